import type { Fault } from '../fault.js';
import { Trial } from '../trial.js';

const manyKeys = Array.from({ length: 1_000 }, (_, index) => `1-${index}`);

export const crowd: Fault = {
  number: '15',
  name: 'crowds',
  how: '4 processes put 10,000 waiters on one key; then each locks 1,000 keys at once, several times',
  holds: 'everybody is served',
  full: { ttl: 1_000, count: 10_000, trials: ['script', 'pure'] },
  short: { ttl: 300, count: 2_000, trials: ['script'] },
  run: (terms) =>
    Trial.run(terms, async (trial) => {
      const clients = await trial.addClients(4);
      const waiters = Array(terms.count / clients.length).fill(['0-0']);
      const startedAt = performance.now();
      await Promise.all(clients.map((client) => client.call('queue', waiters, 0)));
      await Promise.all(clients.map((client) => trial.settle(client)));
      trial.sample('all waiters served', performance.now() - startedAt);
      await Promise.all(clients.map((client) => client.call('queue', Array(5).fill(manyKeys), 0)));
      const holds = await trial.finish();
      const waited = holds.filter(({ keys }) => keys.length === 1).length;
      trial.count('waiters', terms.count);
      trial.count('locks of 1,000 keys', holds.length - waited);
      if (waited < terms.count || holds.length - waited < 20) {
        trial.violation('stranded', `${terms.count - waited} waiters were not served`);
      }
      return trial.outcome();
    }),
};
