import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../fault.js';
import { between, oneOf } from '../random.js';
import { Trial } from '../trial.js';

/** In ttl. */
const delays = [
  [0, 0.05],
  [0, 0.3],
  [0.3, 1],
  // The lease ends before the reply arrives, and the client's timeout has not expired.
  [0.85, 1.4],
  [1, 3],
] as const;

export const delayedReplies: Fault = {
  number: '6',
  name: 'replies delayed',
  how: 'a proxy delays the replies to each of 4 processes by 0 to 3 ttl, which varies',
  holds: 'no lock is handed out after a reply that was too late',
  full: { ttl: 1_000, count: 200, trials: ['script', 'pure'] },
  short: { ttl: 300, count: 20, trials: ['script', 'pure'] },
  run: (terms) =>
    Trial.run(terms, async (trial) => {
      const { ttl } = terms;
      const clients = await trial.addClients(4, { proxied: true });
      await trial.work({
        tasks: 24,
        groups: 12,
        think: [0, 5],
        hold: [0, 20],
        long: { share: 0.1, hold: [0.2 * ttl, 1.5 * ttl] },
      });
      for (let change = 0; change < terms.count; change += 1) {
        const client = oneOf(clients);
        const delay = Math.round(ttl * between(oneOf(delays)));
        trial.note(`replies to ${client.name} delayed by ${delay} ms`);
        trial.proxyOf(client).delayReplies(delay);
        trial.count('changes of the delay');
        await sleep(between([0.05, 0.3]) * ttl);
      }
      for (const client of clients) trial.proxyOf(client).delayReplies(0);
      const holds = await trial.finish();
      trial.count('locks handed out', holds.length);
      return trial.outcome();
    }),
};
