import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../fault.js';
import { between, oneOf } from '../random.js';
import { Trial } from '../trial.js';

export const blockedLoop: Fault = {
  number: '12',
  name: 'event loop blocked',
  how: 'one of 4 processes computes for 1.1 to 3 ttl without returning to its event loop, which stops its heartbeat, while it holds and waits',
  holds: 'as for a stopped process; the others take over',
  full: { ttl: 1_000, count: 18, trials: ['script', 'pure'] },
  short: { ttl: 300, count: 3, trials: ['pure'] },
  run: (terms) =>
    Trial.run(terms, async (trial) => {
      await trial.addClients(4);
      await trial.work({ tasks: 8, groups: 8, think: [0, 5], hold: [10, 60] });
      for (let block = 0; block < terms.count; block += 1) {
        await sleep(between([0.1, 0.4]) * terms.ttl);
        const client = oneOf(trial.clients);
        const milliseconds = between([1.1, 3]) * terms.ttl;
        trial.note(`${client.name} blocked for ${milliseconds.toFixed()} ms`);
        await client.call('block', milliseconds);
        trial.count('blocks');
        await sleep(milliseconds);
      }
      await trial.finish();
      return trial.outcome();
    }),
};
