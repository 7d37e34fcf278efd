import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../fault.js';
import { now } from '../history.js';
import { groupOf, keysOf } from '../keys.js';
import { until } from '../patience.js';
import { between } from '../random.js';
import { Trial } from '../trial.js';

const groups = 12;

export const stoppedWaiter: Fault = {
  number: '5',
  name: 'waiter stopped',
  how: 'a process waits for 12 locks, is stopped, is granted them, and resumes after 0.3 to 2.5 ttl; others wait behind it',
  holds: 'it never enters with an expired grant; the waiters behind it get their turn',
  full: { ttl: 1_000, count: 20, trials: ['script', 'script', 'pure'] },
  short: { ttl: 300, count: 2, trials: ['script'] },
  run: (terms) =>
    Trial.run(terms, async (trial) => {
      const [holder, ...waiters] = await trial.addClients(3);
      if (!holder) throw new Error('three clients were started');
      const sets = () =>
        Array.from({ length: groups }, (_, group) => keysOf(group, terms.primitive));
      const waitingOnServer = async () => (await holder.call('query')).waiting.length;
      const slept: { client: string; from: number; to: number }[] = [];
      for (let round = 0; round < terms.count; round += 1) {
        const [first, second] = round % 2 === 0 ? waiters : waiters.toReversed();
        if (!first || !second) throw new Error('three clients were started');
        await holder.call('hold', sets());
        await first.call('queue', sets(), 3);
        await until(async () => (await waitingOnServer()) >= groups);
        await second.call('queue', sets(), 3);
        await until(async () => (await waitingOnServer()) >= 2 * groups);
        trial.note(`SIGSTOP ${first.name}`);
        await first.pause();
        const from = now();
        await holder.call('letGo');
        await sleep(between([0.3, 2.5]) * terms.ttl);
        trial.note(`SIGCONT ${first.name}`);
        slept.push({ client: first.name, from, to: now() });
        first.resume();
        await Promise.all([trial.settle(first), trial.settle(second)]);
        trial.count('stops');
      }
      const holds = await trial.finish();
      for (const { client, from, to } of slept) {
        // A holder that entered during the stop got the lock that had been granted to the stopped process.
        const others = holds.filter(
          (hold) => hold.client !== client && hold.entered > from && hold.entered < to,
        );
        const overslept = new Set(others.map(({ keys }) => groupOf(keys)));
        trial.count('grants that expired during the stop', overslept.size);
        trial.count('grants taken up in time', groups - overslept.size);
      }
      return trial.outcome();
    }),
};
