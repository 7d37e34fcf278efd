import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../fault.js';
import { now } from '../history.js';
import { between, oneOf } from '../random.js';
import { Trial } from '../trial.js';

export const stoppedHolder: Fault = {
  number: '4',
  name: 'holder stopped',
  how: 'SIGSTOP of one of 4 processes for 1.1 to 2.5 ttl, then SIGCONT; half of its holders continue to write without checking',
  holds:
    'a process stopped under its lock finds it invalid, and a fenced store refuses its late writes',
  full: { ttl: 1_000, count: 25, trials: ['script', 'script', 'pure'] },
  short: { ttl: 300, count: 3, trials: ['pure'] },
  run: (terms) =>
    Trial.run(terms, async (trial) => {
      await trial.addClients(4);
      await trial.work({ tasks: 8, groups: 8, think: [0, 5], hold: [10, 60] });
      const stops: { client: string; from: number; until: number }[] = [];
      for (let stop = 0; stop < terms.count; stop += 1) {
        await sleep(between([0.1, 0.4]) * terms.ttl);
        const client = oneOf(trial.clients);
        trial.note(`SIGSTOP ${client.name}`);
        await client.pause();
        const from = now();
        await sleep(between([1.1, 2.5]) * terms.ttl);
        const until = now();
        client.resume();
        trial.note(`SIGCONT ${client.name}`);
        trial.count('stops');
        stops.push({ client: client.name, from, until });
      }
      const holds = await trial.finish();
      for (const { client, from, until } of stops) {
        const stopped = holds.filter(
          (hold) => hold.client === client && hold.entered < from && (hold.left ?? until) >= until,
        );
        trial.count('locks held over a stop', stopped.length);
        for (const hold of stopped) {
          if ((hold.lastValid ?? 0) > until) {
            const text = 'a holder that was stopped for more than a ttl still called itself valid';
            trial.violation('silent', text, hold);
          }
        }
      }
      return trial.outcome();
    }),
};
