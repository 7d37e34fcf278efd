import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../fault.js';
import { Trial } from '../trial.js';

export const none: Fault = {
  number: '1',
  name: 'none',
  how: '4 processes with 8 tasks each lock 1 of 1, 3 of 5 and 10 of 19 keys',
  holds: 'every process gets its turn',
  full: { ttl: 1_000, count: 100_000, trials: ['script', 'pure'] },
  short: { ttl: 300, count: 600, trials: ['script', 'pure'] },
  run: (terms) =>
    Trial.run(terms, async (trial) => {
      const clients = await trial.addClients(4);
      await trial.work({
        tasks: 8,
        groups: 3,
        think: [0, 2],
        hold: [0, 0],
        long: { share: 0.2, hold: [0, 3] },
      });
      const startedAt = performance.now();
      const entered = async () =>
        (await Promise.all(clients.map((client) => client.call('figures')))).reduce(
          (sum, figures) => sum + figures.entered,
          0,
        );
      while ((await entered()) < terms.count && performance.now() - startedAt < 60_000) {
        await sleep(100);
      }
      const holds = await trial.finish();
      trial.count('critical sections', holds.length);
      for (const { name } of clients) {
        const own = holds.filter(({ client }) => client === name);
        if (own.length < holds.length / 40) {
          trial.violation('slow', `${name} entered ${own.length} of ${holds.length} times`);
        }
      }
      return trial.outcome();
    }),
};
