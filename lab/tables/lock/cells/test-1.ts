/**
 * One task alone, which warms up the subject; then the document's test 1 on each requested key set, at least once and
 * until the budget is spent.
 */
import type { Budget, Cell, IsWanted } from '../../../harness/table.js';
import type { LockClient } from '../subject.js';
import { lockSubjectNamed, subjects } from '../subjects/index.js';
import { checkExclusion } from '../workloads/check-exclusion.js';
import { drawFrom, type KeySet, keySetNamed, keySets } from '../workloads/keys.js';
import { takeTurns } from '../workloads/take-turns.js';
import { lockAndUnlock } from '../workloads/uncontended.js';
import { foreignNamed } from './foreign.js';
import { loadOf } from './load.js';
import { withClient } from './on-server.js';

const turns = 1_000;

export const test1Cell: Cell = {
  id: 'test-1',
  subjects: subjects.map((subject) => subject.name),
  expectedMilliseconds: 1_500,
  limitMilliseconds: 90_000,
  async measure(name, budget, isWanted) {
    const foreign = foreignNamed(name);
    if (foreign) return foreign.measureTest('test-1', budget.measureMilliseconds);
    return withClient(lockSubjectNamed(name), async ({ client, control }) => {
      await checkExclusion(client, control, drawFrom(keySetNamed('3/5'), 'check'));
      const samples: Record<string, number[]> = { uncontended: await uncontended(client, budget) };
      const add = (measure: string, value: number) => {
        samples[measure] = [...(samples[measure] ?? []), value];
      };
      for (const keySet of keySets.filter((keySet) => isDue(keySet, isWanted))) {
        const draw = drawFrom(keySet, `test-1:${keySet.name}`);
        const ends = performance.now() + budget.measureMilliseconds / 2;
        do {
          const load = await loadOf(control, async () => {
            const taken = await takeTurns(client, draw, turns);
            for (const [measure, value] of Object.entries(taken)) {
              add(`${keySet.name} ${measure}`, value);
            }
            return { turns, ownCommands: 0 };
          });
          add(`${keySet.name} sent`, load.sent);
          add(`${keySet.name} executed`, load.executed);
        } while (performance.now() < ends);
      }
      return { ok: true, samples };
    });
  },
};

function isDue({ name }: KeySet, isWanted: IsWanted): boolean {
  const figures = ['seconds', 'p99', 'longest', 'fairness', 'sent', 'executed'];
  return figures.some((figure) => isWanted(`${name} ${figure}`));
}

/** The repetitions after which the code of every subject is compiled; a program does more. */
const warmUps = 20;

async function uncontended(client: LockClient, budget: Budget): Promise<number[]> {
  const keys = ['uncontended'];
  for (let i = 0; i < warmUps; i++) await lockAndUnlock(client, keys);
  const ends = performance.now() + budget.warmupMilliseconds + budget.measureMilliseconds / 2;
  const samples: number[] = [];
  do samples.push(await lockAndUnlock(client, keys));
  while (performance.now() < ends);
  return samples;
}
