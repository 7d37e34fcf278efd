import type { Fault } from '../fault.js';
import { Trial } from '../trial.js';

const manyKeys = Array.from({ length: 1_000 }, (_, index) => `1-${index}`);
const each = 5;
const crowded = 'crowded';
/** Milliseconds in which every waiter must be served, on a busy machine too. */
const patience = 60_000;
/** The handler without scripts reads the whole queue each time, so it gets this fraction of the requests. */
const pureShare = 20;

export const crowd: Fault = {
  number: '15',
  name: 'crowds',
  how: '4 processes put 10,000 waiters (500 without scripts) on one key; then each locks 1,000 keys at once, several times',
  holds: 'all waiters are served',
  full: { ttl: 1_000, count: 10_000, trials: ['script', 'pure'] },
  short: { ttl: 2_000, count: 1_000, trials: ['script'] },
  run: (terms) =>
    Trial.run(terms, async (trial) => {
      const clients = await trial.addClients(4);
      const count = terms.handler === 'pure' ? terms.count / pureShare : terms.count;
      const waiters = Array(count / clients.length).fill([crowded]);
      const startedAt = performance.now();
      await Promise.all(clients.map((client) => client.call('queue', waiters, 0)));
      await Promise.all(clients.map((client) => trial.settle(client, patience)));
      trial.sample('all waiters served', performance.now() - startedAt);
      await Promise.all(
        clients.map((client) => client.call('queue', Array(each).fill(manyKeys), 0)),
      );
      await Promise.all(clients.map((client) => trial.settle(client, patience)));
      const holds = await trial.finish();
      const waited = holds.filter(({ keys }) => keys[0] === crowded).length;
      const large = holds.filter(({ keys }) => keys.length === manyKeys.length).length;
      trial.count('waiters', waited);
      trial.count('locks of 1,000 keys', large);
      if (waited < count) {
        trial.violation('stranded', `${count - waited} waiters were not served`);
      }
      if (large < clients.length * each) {
        trial.violation('stranded', `${large} of ${clients.length * each} large locks were served`);
      }
      return trial.outcome();
    }),
};
