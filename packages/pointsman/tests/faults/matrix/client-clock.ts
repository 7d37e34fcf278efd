import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../fault.js';
import { now } from '../history.js';
import { between, oneOf } from '../random.js';
import { Trial } from '../trial.js';

const hour = 3_600_000;

export const clientClock: Fault = {
  number: '11a',
  name: "client's clock jumps",
  how: 'one of 4 processes has its Date set forward or back by 10 s or an hour',
  holds: 'no process is affected',
  full: { ttl: 1_000, count: 60, trials: ['script', 'pure'] },
  short: { ttl: 300, count: 5, trials: ['pure'] },
  run: (terms) =>
    Trial.run(terms, async (trial) => {
      await trial.addClients(4);
      await trial.work({ tasks: 8, groups: 8, think: [0, 5], hold: [0, 30] });
      const jumps: { client: string; at: number }[] = [];
      for (let jump = 0; jump < terms.count; jump += 1) {
        await sleep(between([0.1, 0.5]) * terms.ttl);
        const client = oneOf(trial.clients);
        const shift = oneOf([10_000, -10_000, hour, -hour, 0]);
        trial.note(`clock of ${client.name} off by ${shift} ms`);
        await client.call('setDate', shift);
        jumps.push({ client: client.name, at: now() });
        trial.count('jumps');
      }
      const holds = await trial.finish();
      const held = jumps.flatMap(({ client, at }) =>
        holds.filter(
          (hold) => hold.client === client && hold.entered < at && (hold.left ?? at) > at,
        ),
      );
      // Load on the machine may cost a few locks, but not most.
      const lost = held.filter((hold) => hold.lost !== undefined);
      trial.count('locks held over a jump', held.length);
      trial.count('of them lost', lost.length);
      if (lost.length > held.length / 4) {
        trial.violation('odd', 'locks are lost when a clock is set', ...lost.slice(0, 2));
      }
      return trial.outcome();
    }),
};
