import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../fault.js';
import { now } from '../history.js';
import { between, oneOf } from '../random.js';
import { Trial } from '../trial.js';

export const closingLeader: Fault = {
  primitive: 'leader',
  number: '0',
  name: 'leader closes',
  how: 'of 3 processes that campaign, the one that leads closes its leader and ends',
  holds: 'another leads within a third of a ttl, so the lease has nothing to do with it',
  full: { ttl: 10_000, count: 40, trials: ['script', 'pure', 'host'] },
  short: { ttl: 10_000, count: 2, trials: ['script', 'host'] },
  run: (terms) =>
    Trial.run(terms, async (trial) => {
      const work = { tasks: 1, groups: 1, think: [0, 1], hold: [50, 100] } as const;
      await trial.addClients(3);
      await trial.work(work);
      const closings: { readonly name: string; readonly at: number }[] = [];
      while (closings.length < terms.count) {
        await sleep(between([100, 300]));
        const { held } = await oneOf(trial.clients).call('query');
        const leader = trial.clients.find(({ name }) => held[0]?.session.startsWith(`${name}-`));
        if (leader === undefined) continue;
        trial.note(`${leader.name} closes`);
        closings.push({ name: leader.name, at: now() });
        trial.count('closings');
        await leader.call('close');
        await trial.kill(leader);
        await (await trial.addClient()).call('work', work);
      }
      const holds = await trial.finish();
      const inOrder = holds.toSorted((one, other) => one.entered - other.entered);
      for (const { name, at } of closings) {
        const last = inOrder.findLast(({ entered }) => entered <= at);
        const next = inOrder.find(({ entered }) => entered > at);
        // It may have resigned before it closed.
        if (last?.client !== name || (last.left ?? at) < at || next === undefined) continue;
        const milliseconds = (next.entered - at) / 1e6;
        trial.sample('closing to next leader', milliseconds);
        if (milliseconds > terms.ttl / 3) {
          const text = `the next leader led ${milliseconds.toFixed()} ms after the closing`;
          trial.violation('slow', text, last, next);
        }
      }
      return trial.outcome();
    }),
};
