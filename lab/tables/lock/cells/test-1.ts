/**
 * The document's test 1 as published: in a new process, each key set once, in the document's order. A row of its own
 * compares the sum over the key sets for our mode without local hand-over.
 */
import { sum } from 'simple-statistics';
import type { Cell, Samples } from '../../../harness/table.js';
import { atServerSubjects, test1Subjects } from '../subjects/index.js';
import { keySets } from '../workloads/keys.js';
import { withContestant } from './contestant.js';

const cold = {
  whole: 'As published, a process does each key set once, and its code is new.',
  expectedMilliseconds: 1_000,
  limitMilliseconds: 60_000,
  measure: (name: string) =>
    withContestant(name, 'test-1', async ({ check, run }) => {
      const runs: Samples[] = [];
      for (const keySet of keySets) runs.push(await run(keySet, 0));
      // Not before the test, whose code it would warm up.
      await check();
      const found: Samples = Object.assign({}, ...runs);
      const samples = Object.entries(found).map(([measure, value]) => [measure, [value]]);
      const seconds = sum(keySets.map(({ name }) => found[`${name} seconds`] ?? Number.NaN));
      return { ok: true, samples: { ...Object.fromEntries(samples), seconds: [seconds] } };
    }),
};

export const test1Cell: Cell = {
  id: 'test-1',
  subjects: test1Subjects.map(({ name }) => name),
  ...cold,
};

export const test1AtServerCell: Cell = {
  id: 'test-1-at-the-server',
  subjects: atServerSubjects.map(({ name }) => name),
  ...cold,
};
