import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientProcess } from '../client/process.js';
import type { Fault } from '../fault.js';
import { between, oneOf } from '../random.js';
import { Trial } from '../trial.js';

export const lostConnections: Fault = {
  number: '7',
  name: 'connections lost',
  how: 'the connections of one of 4 processes are reset, or swallow everything for up to 5 s and are reset or resume, or are half-open as soon as they are reconnected; some have slow replies before',
  holds: 'requests are found again, none is granted twice, none stays behind',
  full: { ttl: 1_000, count: 150, trials: ['script', 'script', 'pure'] },
  short: { ttl: 300, count: 8, trials: ['script', 'pure'] },
  run: (terms) =>
    Trial.run(terms, async (trial) => {
      const { ttl } = terms;
      /** Makes the new connections half-open too, one of them or both. */
      const halfOpen = async (client: ClientProcess): Promise<void> => {
        const proxy = trial.proxyOf(client);
        await sleep(between([0, 0.3]) * ttl);
        proxy.blackhole(true);
        proxy.blackhole(false);
        trial.note(`${client.name} half-open while it connects`);
        trial.count('reset, then half-open');
      };
      const clients = await trial.addClients(4, { proxied: true });
      await trial.work({
        tasks: 12,
        groups: 6,
        think: [0, 5],
        hold: [0, 20],
        long: { share: 0.15, hold: [0.5 * ttl, 2 * ttl] },
      });
      for (let loss = 0; loss < terms.count; loss += 1) {
        await sleep(between([0.02, 0.4]) * ttl);
        const client = oneOf(clients);
        const proxy = trial.proxyOf(client);
        // A client that counts its lease from the reply overestimates it by this delay.
        proxy.delayReplies(oneOf([0, between([0, 0.8]) * ttl]));
        if (Math.random() < 0.7) {
          trial.note(`${client.name} reset`);
          proxy.cut();
          trial.count('resets');
          if (Math.random() < 0.3) await halfOpen(client);
          continue;
        }
        const hole = Math.random() < 0.1 ? 5_000 : between([0.1, 1.5]) * ttl;
        trial.note(`${client.name} swallowed for ${hole.toFixed()} ms`);
        proxy.blackhole(true);
        await sleep(hole);
        proxy.blackhole(false);
        // Half of the time the connections stay half-open, and neither side gets an error.
        const reset = Math.random() < 0.5;
        if (reset) proxy.cut();
        trial.note(`${client.name} no longer swallowed${reset ? ', reset' : ''}`);
        trial.count(reset ? 'swallowed, then reset' : 'swallowed, then half-open');
      }
      // The next reset repairs earlier half-open connections, so a reset also comes last.
      for (const client of clients) {
        const proxy = trial.proxyOf(client);
        proxy.delayReplies(oneOf([0, between([0, 0.3]) * ttl]));
        trial.note(`${client.name} reset`);
        proxy.cut();
        trial.count('resets');
        await halfOpen(client);
        proxy.delayReplies(0);
      }
      await trial.finish();
      return trial.outcome();
    }),
};
