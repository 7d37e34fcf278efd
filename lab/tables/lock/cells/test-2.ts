/** The document's test 2 on each of its key sets, each for a multiple of the budget. */
import type { Cell } from '../../../harness/table.js';
import { connectIoredis } from '../subjects/clients.js';
import { lockSubjectNamed, subjects } from '../subjects/index.js';
import { checkExclusion } from '../workloads/check-exclusion.js';
import { drawFrom, keySetNamed, keySets } from '../workloads/keys.js';
import { takeTurns } from '../workloads/take-turns.js';
import { commandsPerTurn, writeAndRead } from '../workloads/write-and-read.js';
import { foreignNamed } from './foreign.js';
import { loadOf } from './load.js';
import { withClient } from './on-server.js';

/** The duration of a key set, as a multiple of the budget. */
const longer = 2.5;
const turnsToWarmUp = 100;

export const test2Cell: Cell = {
  id: 'test-2',
  subjects: subjects.map((subject) => subject.name),
  expectedMilliseconds: 4_000,
  limitMilliseconds: 180_000,
  async measure(name, budget) {
    const milliseconds = budget.measureMilliseconds * longer;
    const foreign = foreignNamed(name);
    if (foreign) return foreign.measureTest('test-2', milliseconds);
    return withClient(lockSubjectNamed(name), async ({ address, client, control }) => {
      const shared = await connectIoredis(address);
      await checkExclusion(client, control, drawFrom(keySetNamed('3/5'), 'check'));
      await takeTurns(client, drawFrom(keySetNamed('1/1'), 'warm-up'), turnsToWarmUp);

      const samples: Record<string, number[]> = {};
      for (const keySet of keySets) {
        const draw = drawFrom(keySet, `test-2:${keySet.name}`);
        const load = await loadOf(control, async () => {
          const { turns, ...written } = await writeAndRead(client, shared, draw, milliseconds);
          for (const [measure, value] of Object.entries(written)) {
            samples[`${keySet.name} ${measure}`] = [value];
          }
          return { turns, ownCommands: turns * commandsPerTurn };
        });
        samples[`${keySet.name} sent`] = [load.sent];
        samples[`${keySet.name} executed`] = [load.executed];
      }
      shared.disconnect();
      return { ok: true, samples };
    });
  },
};
