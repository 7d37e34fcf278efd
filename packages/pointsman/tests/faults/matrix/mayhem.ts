import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../fault.js';
import { between, oneOf } from '../random.js';
import { Trial } from '../trial.js';

/**
 * On one machine one of the processes is their server, so every process has its turn as the victim. A server of Redis is
 * one of the victims.
 */
export const mayhem: Fault = {
  number: '1',
  name: 'any process killed or stopped',
  how: 'again and again, one of 4 processes or the server is killed and replaced, or stopped for 0.05 to 2.5 ttl; a killed Redis server loses its data',
  holds: '',
  full: { ttl: 300, count: 100, trials: ['script', 'host'] },
  short: { ttl: 500, count: 6, trials: ['script', 'host'] },
  run: (terms) =>
    Trial.run(terms, async (trial) => {
      const isMutex = terms.primitive === 'mutex';
      const work = {
        tasks: isMutex ? 8 : 24,
        groups: isMutex ? 3 : 8,
        think: [0, 1],
        hold: [0, 0],
        long: { share: 0.02, hold: [0, 3] },
      } as const;
      await trial.addClients(4);
      await trial.work(work);
      for (let fault = 0; fault < terms.count; fault += 1) {
        await sleep(between(isMutex ? [0.1, 0.6] : [0.5, 3]) * terms.ttl);
        const isServer = terms.handler !== 'host' && Math.random() < 0.2;
        const victim = isServer ? undefined : oneOf(trial.clients);
        const name = victim?.name ?? 'server';
        if (Math.random() < 0.5) {
          trial.count(victim ? 'kills' : 'kills of the server');
          if (victim) {
            await trial.kill(victim);
            await (await trial.addClient()).call('work', work);
          } else {
            trial.note('kill -9 of the server');
            await trial.server.restart();
            trial.note('server restarted, empty');
          }
          continue;
        }
        const range = Math.random() < 0.5 ? ([0.05, 0.9] as const) : ([1.1, 2.5] as const);
        trial.note(`SIGSTOP ${name}`);
        await (victim ?? trial.server).pause();
        await sleep(between(range) * terms.ttl);
        (victim ?? trial.server).resume();
        trial.note(`SIGCONT ${name}`);
        trial.count(victim ? 'stops' : 'stops of the server');
      }
      const holds = await trial.finish();
      trial.count('critical sections', holds.length);
      // A server that has lost its data ends a session between a look at the lease and the first step of a holder. A guard
      // that has not been renewed yet cannot know that the server lost its record.
      return trial.outcome(terms.handler === 'host' ? [] : ['late', 'forgotten']);
    }),
};
