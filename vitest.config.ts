import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
// Tests of the source find the scripts as the files are now.
import './packages/pointsman/scripts.js';

// Tests of types (`*.test-d.ts`) are compiled by `tsc -b`, with everything else.
// Files for one runtime other than Node (`*.workerd.test.ts`) are run by packages/pointsman/tests/runtimes.
const faults = 'packages/pointsman/tests/faults.node.test.ts';
const project = (name: string, include: string[], others: string[] = [], groupOrder = 0) => ({
  extends: true as const,
  test: {
    name,
    include,
    exclude: ['**/node_modules/**', '**/dist/**', '**/*.workerd.test.ts', ...others],
    sequence: { groupOrder },
  },
});

export default defineConfig({
  // What runs is what is published: the source is compiled for the same language level.
  oxc: { target: 'es2022' },
  test: {
    // Files wait for servers, processes and threads, so the one that gathers the results needs no
    // processor of its own. A test that does not get its turn for a while has not failed.
    maxWorkers: availableParallelism(),
    testTimeout: 20_000,
    hookTimeout: 20_000,
    projects: [
      project(
        'pointsman',
        ['packages/pointsman/src/**/*.test.ts', 'packages/pointsman/tests/*.test.ts'],
        [faults],
      ),
      // After the others, alone: a process that does not get its turn for long is a fault of its own.
      project('faults', [faults], [], 1),
      project('spec', ['spec/runner/*.test.ts']),
      project('lab', ['lab/**/*.test.ts']),
      project('release', ['release/*.test.ts']),
    ],
  },
});
