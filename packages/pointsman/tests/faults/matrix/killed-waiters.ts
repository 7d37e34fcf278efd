import type { Fault } from '../fault.js';
import { now } from '../history.js';
import { until } from '../patience.js';
import { lateness, Trial } from '../trial.js';

const keys = ['0-0'];
const mostQueued = 100;

export const killedWaiters: Fault = {
  number: '3',
  name: 'waiter killed',
  how: 'kill -9 of a process with 1 to 100 requests in the queue of one key, another waiter behind them; then the holder releases',
  holds: 'the waiter behind the dead ones enters within one ttl of the release',
  full: { ttl: 1_000, count: 50, trials: ['script', 'script', 'pure'] },
  short: { ttl: 300, count: 4, trials: ['script'] },
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
        // A process in local mode may queue once for all of its tasks.
        const expected = victim.setting.mode === 'strict' ? queued : 1;
        const first = await until(async () => (await waitingOnServer()) >= expected);
        await waiter.call('queue', [keys], 0);
        const second = await until(async () => (await waitingOnServer()) > expected);
        await trial.kill(victim);
        // Without both, load made the holder lose its lock, and no request had to wait.
        if (first && second) {
          trial.count('processes killed');
          trial.count('requests in their queues', queued);
        }
        await holder.call('letGo');
        await trial.settle(waiter);
      }
      const holds = await trial.finish();
      const released = holds.filter(({ client }) => client === holder.name);
      for (const next of holds) {
        if (next.client !== waiter.name) continue;
        const before = released.findLast(({ left = now() }) => left < next.entered);
        if (before?.left === undefined || before.left < next.requested) continue;
        const milliseconds = (next.entered - before.left) / 1e6;
        trial.sample('release to next holder', milliseconds);
        if (milliseconds > terms.ttl + lateness) {
          const text = `dead waiters kept the lock from the next for ${milliseconds.toFixed()} ms`;
          trial.violation('slow', text, before, next);
        }
      }
      return trial.outcome();
    }),
};
