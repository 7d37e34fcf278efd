import { setTimeout as sleep } from 'node:timers/promises';
import { missingCompiler, WrongClock } from '../clock/wrong-clock.js';
import type { Fault } from '../fault.js';
import { between, oneOf } from '../random.js';
import { Trial } from '../trial.js';

const hour = 3_600_000;

export const serverClock: Fault = {
  number: '11b',
  name: "server's clock jumps",
  how: 'the clock of the server is set forward or back by 10 s or an hour',
  holds: 'tokens grow even if the clock is behind them',
  full: { ttl: 1_000, count: 20, trials: ['script', 'pure'] },
  short: { ttl: 300, count: 4, trials: ['script'] },
  missing: missingCompiler,
  run: async (terms) => {
    const clock = new WrongClock();
    const body = async (trial: Trial) => {
      await trial.addClients(4);
      await trial.work({
        tasks: 8,
        groups: 8,
        think: [0, 5],
        hold: [0, 30],
        long: { share: 0.1, hold: [0.5 * terms.ttl, 1.5 * terms.ttl] },
      });
      for (let jump = 0; jump < terms.count; jump += 1) {
        await sleep(between([0.5, 1.5]) * terms.ttl);
        const shift = oneOf([10_000, -10_000, hour, -hour, 0]);
        trial.note(`clock of the server off by ${shift} ms`);
        clock.set(shift);
        trial.count('jumps');
      }
      // State with earlier times stays until the clock has passed the last token, so the clock is set ahead.
      clock.set(2 * hour);
      trial.note('clock of the server ahead of all that it has been');
      await sleep(1.5 * terms.ttl);
      await trial.finish();
      // A clock set forward expires the server's keys, as if the server had lost its data.
      return trial.outcome(['forgotten']);
    };
    try {
      return await Trial.run(terms, body, { kind: clock.kind });
    } finally {
      clock.remove();
    }
  },
};
