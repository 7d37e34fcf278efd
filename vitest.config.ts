import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
// Builds the Lua scripts, which tests of the source import.
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
  // The source is compiled for the language level of the published package.
  oxc: { target: 'es2022' },
  test: {
    // Test files mostly wait for servers, processes and threads, so the reporter needs no core of its own. The long
    // timeouts keep a test on a busy machine from failing.
    maxWorkers: availableParallelism(),
    testTimeout: 20_000,
    hookTimeout: 20_000,
    expect: { poll: { timeout: 10_000 } },
    projects: [
      project(
        'pointsman',
        ['packages/pointsman/src/**/*.test.ts', 'packages/pointsman/tests/*.test.ts'],
        [faults],
      ),
      // After the others and alone: a process starved of processor time is itself a fault.
      project('faults', [faults], [], 1),
      project('spec', ['spec/runner/*.test.ts']),
      project('lab', ['lab/**/*.test.ts']),
      project('release', ['release/*.test.ts']),
    ],
  },
});
