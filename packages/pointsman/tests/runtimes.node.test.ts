/** The runner for other runtimes, run on Node itself: it must report every failure. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bundleTests } from './runtimes/dist/bundle.js';
import { type Outcome, outcomeMark } from './runtimes/dist/outcome.js';
import { processRuntime } from './runtimes/dist/runtime.js';
import { explainer } from './runtimes/dist/stack.js';

test('the runner counts what passes and shows what fails', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pointsman-runner-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const bundle = join(folder, 'tests.mjs');
  const files = ['tests/runtimes/fixtures/broken.test.ts', 'tests/runtimes/fixtures/mixed.test.ts'];
  await bundleTests('console', bundle, files);

  const node = processRuntime('node', () => ({ path: process.execPath }));
  const lines: string[] = [];
  const version = await node.run(process.execPath, bundle, (line) => lines.push(line));
  expect(version).toBe(process.versions.node);
  const line = lines.find((text) => text.startsWith(outcomeMark)) ?? '';
  const outcome: Outcome = JSON.parse(line.slice(outcomeMark.length));

  expect(outcome).toMatchObject({ passed: 3, skipped: 1 });
  const explain = explainer(bundle);
  const failures = outcome.failures.map(({ name, text }) => [
    name.replace(/^.* > /, ''),
    explain(text),
  ]);
  expect(failures).toEqual([
    ['differs', expect.stringContaining('"count": 2')],
    ['hangs', expect.stringContaining('timed out in 50ms')],
    ['asserts too little', expect.stringContaining('expected 1 assertions, got 0')],
    [
      expect.stringMatching(/fixtures\/broken\.test\.ts$/),
      expect.stringContaining('broken on load'),
    ],
    ['a group whose hook fails', expect.stringContaining('cannot clean up')],
    ['an unhandled rejection', expect.stringContaining('not handled')],
  ]);
  expect(failures[0]?.[1]).toContain('fixtures/mixed.test.ts:11:');
});
