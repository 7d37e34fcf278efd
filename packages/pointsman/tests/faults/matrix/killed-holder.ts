import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../fault.js';
import { groupOf } from '../keys.js';
import { between, oneOf } from '../random.js';
import { lateness, Trial } from '../trial.js';

export const killedHolder: Fault = {
  number: '2',
  name: 'holder killed',
  how: 'kill -9 of one of 4 processes at a random moment, while it holds some of 8 locks and waits for the others',
  holds:
    'the next waiter enters within one ttl of the kill, or of the last kill of a waiter ahead of it',
  full: { ttl: 1_000, count: 50, trials: ['script', 'script', 'pure'] },
  short: { ttl: 300, count: 3, trials: ['script', 'pure'] },
  run: (terms) =>
    Trial.run(terms, async (trial) => {
      const work = { tasks: 8, groups: 8, think: [0, 5], hold: [5, 40] } as const;
      await trial.addClients(4);
      await trial.work(work);
      const killed = new Map<string, number>();
      for (let kill = 0; kill < terms.count; kill += 1) {
        await sleep(between([0.2, 0.8]) * terms.ttl);
        const victim = oneOf(trial.clients);
        await trial.kill(victim);
        trial.count('processes killed');
        killed.set(victim.name, victim.killedAt as number);
        const successor = await trial.addClient();
        await successor.call('work', work);
      }
      const holds = await trial.finish();
      const inOrder = holds.toSorted((one, other) => one.entered - other.entered);
      for (const hold of inOrder) {
        const killedAt = killed.get(hold.client);
        if (killedAt === undefined || hold.left !== undefined) continue;
        const next = inOrder.find(
          ({ entered, keys }) => entered > killedAt && groupOf(keys) === groupOf(hold.keys),
        );
        // After the last kill these keys may have had no request.
        if (!next) continue;
        trial.count('locks held by them');
        const sample = (next.entered - killedAt) / 1e6;
        trial.sample('kill to next holder', sample);
        // The server may grant the lock to a waiter that was killed too, until the lease of its process ends.
        let lastKill = killedAt;
        for (const [client, at] of killed) {
          const waited = trial.open.some(
            (request) =>
              request.client === client &&
              groupOf(request.keys) === groupOf(hold.keys) &&
              request.requested < next.entered,
          );
          const isNext = at > lastKill && at < next.entered && at - lastKill < terms.ttl * 1e6;
          if (waited && isNext) lastKill = at;
        }
        const tookOver = (next.entered - lastKill) / 1e6;
        if (tookOver > terms.ttl + lateness) {
          const text = `a killed holder's lock was taken over after ${sample.toFixed()} ms`;
          trial.violation('slow', text, hold, next);
        }
      }
      return trial.outcome();
    }),
};
