import { setTimeout as sleep } from 'node:timers/promises';
import type { Server } from '../../servers/server.js';
import type { Fault } from '../fault.js';
import { between, oneOf } from '../random.js';
import { Trial } from '../trial.js';

type Deed = { readonly name: string; do(server: Server, ttl: number): Promise<void> };

/** Changes a setting for a time that may exceed a lease. */
const setting = (name: string, value: string, usual: string): Deed => ({
  name: `${name} ${value}`,
  async do(server, ttl) {
    await server.command('CONFIG', 'SET', name, value);
    await sleep(between([0.1, 1.5]) * ttl);
    await server.command('CONFIG', 'SET', name, usual);
  },
});

const command = (name: string, ...rest: string[]): Deed => ({
  name: [name, ...rest].join(' '),
  async do(server) {
    await server.command(name, ...rest);
  },
});

/** Deletes only the records of all sessions from the namespace. */
const loseSessions: Deed = {
  name: 'HDEL of all sessions',
  async do(server) {
    const state = '{pointsman}:state';
    const fields = (await server.command('HKEYS', state)) as string[];
    const sessions = fields.filter((field) => field.startsWith('session:'));
    if (sessions.length > 0) await server.command('HDEL', state, ...sessions);
  },
};

const deeds: readonly Deed[] = [
  command('SCRIPT', 'FLUSH'),
  command('FLUSHALL'),
  command('DEL', '{pointsman}:index'),
  loseSessions,
  command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
  command('CLIENT', 'KILL', 'TYPE', 'pubsub'),
  // Every write is refused: OOM.
  setting('maxmemory', '1', '0'),
  // Every write is refused: NOREPLICAS, as a full disk does with MISCONF.
  setting('min-replicas-to-write', '1', '0'),
];

export const administeredServer: Fault = {
  number: '13',
  name: 'server interfered with',
  how: `at random ${deeds.map(({ name }) => name).join(', ')}, the last two for up to 1.5 ttl`,
  holds: 'requests are answered or refused with an error, and are served again afterwards',
  full: { ttl: 1_000, count: 60, trials: ['script', 'script', 'pure'] },
  short: { ttl: 300, count: 6, trials: ['script', 'pure'] },
  run: (terms) =>
    Trial.run(terms, async (trial) => {
      await trial.addClients(4);
      await trial.work({
        tasks: 8,
        groups: 8,
        think: [0, 5],
        hold: [0, 30],
        long: { share: 0.05, hold: [0.5 * terms.ttl, 1.5 * terms.ttl] },
      });
      for (let times = 0; times < terms.count; times += 1) {
        await sleep(between([50, 700]));
        const deed = oneOf(deeds);
        trial.note(deed.name);
        await deed.do(trial.server, terms.ttl);
        trial.note(`${deed.name} done`);
        trial.count(deed.name);
      }
      await trial.finish();
      // A guard that has not been renewed yet cannot know that the server lost its record.
      return trial.outcome(['forgotten']);
    }),
};
