/** The document's test 2 on each of its key sets. */
import type { Cell } from '../../../harness/table.js';
import { test2Subjects } from '../subjects/index.js';
import { keySets } from '../workloads/keys.js';
import { isWanted, withContestant } from './contestant.js';

const sliceMilliseconds = 300;

export const test2Cell: Cell = {
  id: 'test-2',
  subjects: test2Subjects.map(({ name }) => name),
  expectedMilliseconds: 1_500,
  limitMilliseconds: 60_000,
  sliceMilliseconds,
  measure: (name, lab) =>
    withContestant(name, 'test-2', async ({ check, run }) => {
      await check();
      for (const keySet of keySets.slice(0, 2)) await run(keySet, sliceMilliseconds);
      const wanted = keySets.filter((keySet) => isWanted(keySet, lab));
      await lab.serve(
        wanted.map((keySet) => ({
          name: keySet.name,
          run: (milliseconds) => run(keySet, milliseconds),
        })),
      );
      return { ok: true, samples: {} };
    }),
};
