import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../fault.js';
import { together } from '../outcome.js';
import { between } from '../random.js';
import { type Terms, Trial } from '../trial.js';

interface Kind {
  readonly name: string;
  readonly args: readonly string[];
  readonly keepData: boolean;
  readonly save?: boolean;
}

const kinds: readonly Kind[] = [
  { name: 'empty', args: [], keepData: false },
  // Writes since the last SAVE are lost.
  { name: 'an older snapshot', args: [], keepData: true, save: true },
  {
    name: 'AOF everysec',
    args: ['--appendonly', 'yes', '--appendfsync', 'everysec'],
    keepData: true,
  },
  { name: 'AOF always', args: ['--appendonly', 'yes', '--appendfsync', 'always'], keepData: true },
];

export const restartedServer: Fault = {
  number: '9',
  name: 'server restarted',
  how: 'kill -9 of the server and a restart without its data, with an older snapshot, with AOF everysec, with AOF always (one server each)',
  holds: 'tokens grow across restarts, also without data',
  full: { ttl: 1_000, count: 12, trials: ['script', 'pure'] },
  short: { ttl: 300, count: 2, trials: ['script'] },
  run: async (terms) => together(await Promise.all(kinds.map((kind) => restarts(terms, kind)))),
};

function restarts(terms: Terms, { name, args, keepData, save }: Kind) {
  return Trial.run(
    terms,
    async (trial) => {
      await trial.addClients(3);
      await trial.work({
        tasks: 6,
        groups: 6,
        think: [0, 5],
        hold: [0, 30],
        long: { share: 0.1, hold: [terms.ttl / 2, 1.5 * terms.ttl] },
      });
      for (let restart = 0; restart < terms.count; restart += 1) {
        if (save) {
          await sleep(between([0, 0.5]) * terms.ttl);
          await trial.server.command('SAVE');
          trial.note('SAVE');
        }
        await sleep(between([0.5, 1.5]) * terms.ttl);
        trial.note('kill -9 of the server');
        await trial.server.kill();
        await sleep(between([0, 0.5]) * terms.ttl);
        await trial.server.restart({ keepData });
        trial.note(`server restarted, ${name}`);
        trial.count(`restarts, ${name}`);
      }
      await sleep(1.5 * terms.ttl);
      await trial.finish();
      // A guard that has not been renewed yet cannot know that the server lost its record.
      return trial.outcome(keepData && !save ? [] : ['forgotten']);
    },
    { args },
  );
}
