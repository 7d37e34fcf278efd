import type { Fault } from '../fault.js';
import { until } from '../patience.js';
import { Trial } from '../trial.js';

const keys = ['0-0'];
const atOnce = 500;

export const cancelStorm: Fault = {
  number: '14',
  name: 'requests given up',
  how: '3 processes repeatedly send 500 concurrent requests and cancel each by a signal or a timeout within 20 ms, while others work',
  holds: 'no cancelled request stays in the queue, the next one is served at once',
  full: { ttl: 1_000, count: 60, trials: ['script', 'pure'] },
  short: { ttl: 300, count: 3, trials: ['script'] },
  run: (terms) =>
    Trial.run(terms, async (trial) => {
      const clients = await trial.addClients(4);
      const [worker, ...storming] = clients;
      if (!worker) throw new Error('four clients were started');
      await worker.call('work', { tasks: 2, groups: 1, think: [0, 5], hold: [0, 2] });
      for (let storm = 0; storm < terms.count; storm += 1) {
        await Promise.all(storming.map((client) => client.call('storm', keys, atOnce, 20)));
        trial.count('requests', storming.length * atOnce);
      }
      await trial.settle(worker);
      const nothingLeft = await until(async () => {
        const { held, waiting } = await worker.call('query');
        return held.length + waiting.length === 0;
      });
      if (!nothingLeft) trial.violation('leak', 'requests that were given up stay in the queue');
      await worker.call('queue', [keys], 0);
      const holds = await trial.finish();
      trial.count('requests granted', holds.length);
      return trial.outcome();
    }),
};
