import type { Fault } from '../fault.js';
import { until } from '../patience.js';
import { Trial } from '../trial.js';

const keys = ['0-0'];
const mostQueued = 100;

export const killedWaiters: Fault = {
  number: '3',
  name: 'waiter killed',
  how: 'kill -9 of a process with 1 to 100 requests in the queue of one key, another waiter behind them; then the holder releases',
  holds: 'the waiter behind the dead ones enters within one ttl of the release',
  full: { ttl: 1_000, count: 50, trials: ['script', 'script', 'pure'] },
  short: { ttl: 300, count: 4, trials: ['script', 'pure'] },
  run: (terms) =>
    Trial.run(terms, async (trial) => {
      const [holder, waiter] = await trial.addClients(2);
      if (!holder || !waiter) throw new Error('two clients were started');
      const waitingOnServer = async () => (await holder.call('query')).waiting.length;
      for (let round = 0; round < terms.count; round += 1) {
        const victim = await trial.addClient();
        await holder.call('hold', [keys]);
        const queued = 1 + Math.floor(Math.random() * mostQueued);
        await victim.call('queue', Array(queued).fill(keys), 0);
        // A process that hands over among its own tasks may queue once for all of them.
        const expected = victim.setting.mode === 'strict' ? queued : 1;
        await until('the requests are queued', async () => (await waitingOnServer()) >= expected);
        const before = await waitingOnServer();
        await waiter.call('queue', [keys], 0);
        await until('one more is queued', async () => (await waitingOnServer()) > before);
        await trial.kill(victim);
        trial.count('processes killed');
        trial.count('requests in their queues', queued);
        await holder.call('letGo');
        await trial.settle(waiter);
      }
      const holds = await trial.finish();
      const released = holds.filter(({ client }) => client === holder.name);
      const entered = holds.filter(({ client }) => client === waiter.name);
      released.forEach((hold, round) => {
        const next = entered[round];
        if (hold.left === undefined || !next) return;
        const milliseconds = (next.entered - hold.left) / 1e6;
        trial.sample('release to next holder', milliseconds);
        if (milliseconds > terms.ttl) {
          const text = `dead waiters kept the lock from the next for ${milliseconds.toFixed()} ms`;
          trial.violation('slow', text, hold, next);
        }
      });
      return trial.outcome();
    }),
};
