import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../fault.js';
import { between, oneOf } from '../random.js';
import { Trial } from '../trial.js';

/** Of the processes of one machine, one of which is their server; so every process has its turn as the victim. */
export const mayhem: Fault = {
  number: '1',
  name: 'any process killed or stopped',
  how: 'of 4 processes with 8 tasks each, one is killed and replaced, or stopped for 0.05 to 2.5 ttl, one after another; so is the server',
  holds: 'nothing beyond that',
  full: { ttl: 1_000, count: 100, trials: ['host'] },
  short: { ttl: 300, count: 8, trials: ['host'] },
  run: (terms) =>
    Trial.run(terms, async (trial) => {
      const work = {
        tasks: 8,
        groups: 3,
        think: [0, 1],
        hold: [0, 0],
        long: { share: 0.02, hold: [0, 3] },
      } as const;
      await trial.addClients(4);
      await trial.work(work);
      for (let fault = 0; fault < terms.count; fault += 1) {
        await sleep(between([0.1, 0.6]) * terms.ttl);
        const victim = oneOf(trial.clients);
        if (Math.random() < 0.5) {
          await trial.kill(victim);
          trial.count('kills');
          await (await trial.addClient()).call('work', work);
          continue;
        }
        const range = Math.random() < 0.5 ? ([0.05, 0.9] as const) : ([1.1, 2.5] as const);
        trial.note(`SIGSTOP ${victim.name}`);
        victim.pause();
        await sleep(between(range) * terms.ttl);
        victim.resume();
        trial.note(`SIGCONT ${victim.name}`);
        trial.count('stops');
      }
      const holds = await trial.finish();
      trial.count('critical sections', holds.length);
      // The tasks are between a look at the lease and the first step of a holder for a good part of the time, so some of
      // the stops are there.
      return trial.outcome(['late']);
    }),
};
