/** Test 1 in processes that have done it before, and one task alone. */
import type { Cell, Slice, Subject } from '../../../harness/table.js';
import { hostLocks } from '../subjects/host-locks.js';
import { lockSubjectNamed, warmSubjects } from '../subjects/index.js';
import { rwLocks } from '../subjects/rw-locks.js';
import { semaphores } from '../subjects/semaphores.js';
import { keySetNamed } from '../workloads/keys.js';
import { lockAndUnlock } from '../workloads/uncontended.js';
import { isWanted, withContestant } from './contestant.js';
import { withClient } from './on-server.js';

/** The other key sets differ little in a warm process. */
export const warmKeySets = ['1/1', '5/9'].map(keySetNamed);

/** The same for every subject. */
const warmUpRuns = 3;

export const test1WarmCell: Cell = {
  id: 'test-1-warm',
  subjects: warmSubjects.map(({ name }) => name),
  expectedMilliseconds: 2_000,
  limitMilliseconds: 120_000,
  sliceMilliseconds: 150,
  measure: (name, lab) =>
    withContestant(name, 'test-1', async ({ check, run }) => {
      await check();
      const slices = warmKeySets
        .filter((keySet) => isWanted(keySet, lab))
        .map(
          (keySet): Slice => ({
            name: keySet.name,
            run: (milliseconds) => run(keySet, milliseconds),
          }),
        );
      for (let run = 0; run < warmUpRuns; run += 1) {
        for (const slice of slices) await slice.run(0);
      }
      await lab.serve(slices);
      return { ok: true, samples: {} };
    }),
};

const uncontended = (id: string, subjects: readonly Subject[]): Cell => ({
  id,
  subjects: subjects.map(({ name }) => name),
  measure: (name, lab) =>
    withClient(lockSubjectNamed(name), async ({ client, namespace }) => {
      const run = () => lockAndUnlock(client, [`${namespace}:uncontended`]);
      for (let warmUp = 0; warmUp < 5; warmUp++) await run();
      await lab.serve([{ name: 'uncontended', run }]);
      return { ok: true, samples: {} };
    }),
});

export const uncontendedCell = uncontended('uncontended', warmSubjects);
export const semaphoreUncontendedCell = uncontended('semaphore-uncontended', semaphores);
export const hostUncontendedCell = uncontended('host-uncontended', hostLocks);
export const rwLockUncontendedCell = uncontended('rwlock-uncontended', rwLocks);
