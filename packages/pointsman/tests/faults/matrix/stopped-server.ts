import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../fault.js';
import { now } from '../history.js';
import { between } from '../random.js';
import { lateness, Trial } from '../trial.js';

export const stoppedServer: Fault = {
  number: '8',
  name: 'server stopped',
  how: 'SIGSTOP of the server for 0.1 to 5 ttl, then SIGCONT',
  holds: 'the signal of a holder that outlives its validity aborts within one ttl of the stop',
  full: { ttl: 1_000, count: 15, trials: ['script', 'script', 'pure'] },
  short: { ttl: 300, count: 3, trials: ['script'] },
  run: (terms) =>
    Trial.run(terms, async (trial) => {
      const { ttl } = terms;
      await trial.addClients(4);
      await trial.work({
        tasks: 8,
        groups: 8,
        think: [0, 5],
        hold: [0, 30],
        long: { share: 0.1, hold: [ttl, 2.5 * ttl] },
      });
      const stops: { from: number; until: number }[] = [];
      for (let stop = 0; stop < terms.count; stop += 1) {
        await sleep(between([0.5, 1]) * ttl);
        trial.note('SIGSTOP of the server');
        const from = now();
        trial.server.pause();
        await sleep((Math.random() < 0.8 ? between([0.1, 2]) : between([2, 5])) * ttl);
        trial.note('SIGCONT of the server');
        stops.push({ from, until: now() });
        trial.server.resume();
        trial.count('stops');
      }
      const holds = await trial.finish();
      for (const { from, until } of stops) {
        if (until - from < 1e6 * ttl) continue;
        for (const hold of holds) {
          const { entered, lost, left = Number.POSITIVE_INFINITY } = hold;
          if (entered > from || left < from + 1e6 * ttl) continue;
          const delay = ((lost ?? left) - from) / 1e6;
          trial.sample('stop to signal', delay);
          if (delay > ttl + lateness) {
            trial.violation(
              'slow',
              `the signal of a holder aborted after ${delay.toFixed()} ms`,
              hold,
            );
          }
        }
      }
      return trial.outcome();
    }),
};
