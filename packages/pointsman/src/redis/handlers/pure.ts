/**
 * The handler `pure`: for servers that do not allow Lua. It reads the whole namespace under WATCH, does in
 * here what the script does there, and writes the difference in a transaction: two round trips. If another
 * process has changed the namespace meanwhile, it does so again when it is its turn.
 *
 * Invariant: what it writes was computed from what the server still has when it is written. The time is
 * that of the reading; a transaction that comes late only takes leases for longer than they are and
 * gives its own for shorter.
 */

import { Mutex } from '../../sync/mutex.js';
import type { CommandConnection, ConnectionFactory } from '../connection/connection.js';
import { apply, emptyState, type State, type World } from '../protocol/apply.js';
import type { Batch, Message, Reply, Request } from '../protocol/protocol.js';
import { encodeMessage, lockPattern, mapOf, parse, requestsOf } from '../protocol/wire.js';
import { channelBaseOf, channelOf, type Handler, keysOf, turnsOf } from './handler.js';
import { Turns } from './turns.js';

/** One transaction at a time on a connection: its WATCH is for all that is sent there. */
const transactions = new WeakMap<CommandConnection, Mutex>();

type Fields = Map<string, string>;
type Five = [number, number, number, number, number];

/** The namespace as it lies in Redis. */
interface Stored {
  readonly locks: Fields;
  readonly sessions: Fields;
  readonly requests: Fields;
  /** Members of the sorted set. */
  readonly queue: Set<string>;
}

const clockPattern = /^(\d+) (\d+) (\d+) (\d+) ([01]) (\S+)$/;
const sessionPattern = /^(\d+) (\d+) (\d+)$/;

function load(locks: Fields, sessions: Fields, requests: ReadonlyMap<string, Request>): State {
  const state = emptyState();
  for (const [key, value] of locks) {
    if (key === '') {
      const words = parse('the record of the clock', value, clockPattern);
      const [token, time, seen, guard, doubted] = words.slice(1, 6).map(Number) as Five;
      const run = words[6] === '-' ? undefined : words[6];
      state.clock = { token, time, seen, doubted: doubted === 1, run };
      state.guard = guard > 0 ? guard : undefined;
    } else {
      const [, id = '', token] = parse(`the record of the lock ${key}`, value, lockPattern);
      state.locks.set(key, { id, token: Number(token) });
    }
  }
  for (const [session, value] of sessions) {
    const words = parse(`the record of the session ${session}`, value, sessionPattern);
    const [expires, incarnation, ttl] = words.slice(1).map(Number) as [number, number, number];
    state.sessions.set(session, { expires, incarnation, ttl });
  }
  for (const [id, request] of requests) state.requests.set(id, request);
  return state;
}

function store({ clock, locks, sessions, requests, guard }: State): Stored {
  const stored: Stored = {
    locks: new Map(),
    sessions: new Map(),
    requests: new Map(),
    queue: new Set(),
  };
  if (clock === undefined) return stored;
  const { token, time, seen, doubted, run = '-' } = clock;
  stored.locks.set('', `${token} ${time} ${seen} ${guard ?? 0} ${doubted ? 1 : 0} ${run}`);
  for (const [key, { id, token }] of locks) stored.locks.set(key, `${id} ${token}`);
  for (const [session, { expires, incarnation, ttl }] of sessions) {
    stored.sessions.set(session, `${expires} ${incarnation} ${ttl}`);
  }
  for (const [id, request] of requests) {
    stored.requests.set(id, JSON.stringify(request));
    for (const member of membersOf(id, request)) stored.queue.add(member);
  }
  return stored;
}

function membersOf(id: string, { order, keys, condition }: Request): string[] {
  const place = (kind: string, name: string) =>
    `${kind}${Buffer.byteLength(name)}:${name}:${order.padStart(16, '0')}${id}`;
  return condition === undefined ? keys.map((key) => place('k', key)) : [place('c', condition)];
}

function changesOf(key: string, before: Fields, after: Fields): string[][] {
  const set = [...after].filter(([field, value]) => before.get(field) !== value).flat();
  const gone = [...before.keys()].filter((field) => !after.has(field));
  return [
    ...(set.length > 0 ? [['HSET', key, ...set]] : []),
    ...(gone.length > 0 ? [['HDEL', key, ...gone]] : []),
  ];
}

export class PureHandler implements Handler {
  readonly #connection: CommandConnection;
  readonly #keys: ReturnType<typeof keysOf>;
  readonly #base: string;
  readonly #factory: Pick<ConnectionFactory, 'channels' | 'database'>;
  readonly #transactions: Mutex;
  /** The batches of this handler, in the order of the calls. */
  readonly #batches = new Mutex();
  readonly #turns: Turns;

  constructor(
    connection: CommandConnection,
    base: string,
    factory: Pick<ConnectionFactory, 'channels' | 'database'>,
  ) {
    this.#connection = connection;
    this.#keys = keysOf(base);
    this.#base = base;
    this.#factory = factory;
    const shared = transactions.get(connection) ?? new Mutex();
    transactions.set(connection, shared);
    this.#transactions = shared;
    this.#turns = new Turns((...command) => this.#call(...command), turnsOf(base));
  }

  async prepare(): Promise<void> {}

  exchange(batch: Batch): Promise<Reply> {
    return this.#batches.run(async () => {
      try {
        for (;;) {
          const reply = await this.#transactions.run(() => this.#attempt(batch));
          if (reply !== undefined) return reply;
          // Others may use the connection meanwhile.
          await this.#turns.wait(batch.ttl);
        }
      } finally {
        await this.#turns.quit();
      }
    });
  }

  get #channelBase(): string {
    return channelBaseOf(this.#base, this.#factory.database);
  }

  #call(...command: string[]): Promise<unknown> {
    return this.#connection.call(this.#keys[0], ...command);
  }

  /** Undefined if another process was faster, or has its turn. */
  async #attempt(batch: Batch): Promise<Reply | undefined> {
    const [locksKey, sessionsKey, queueKey, requestsKey] = this.#keys;
    const begun = performance.now();
    const [, first, time, life, ...hashes] = await Promise.all([
      this.#call('WATCH', ...this.#keys),
      this.#turns.first(),
      this.#call('TIME'),
      this.#call('PTTL', locksKey),
      this.#call('HGETALL', locksKey),
      this.#call('HGETALL', sessionsKey),
      this.#call('HGETALL', requestsKey),
    ]);
    if (!this.#turns.mayWrite(first)) {
      await this.#call('UNWATCH');
      return undefined;
    }
    const [locks, sessions, records] = hashes.map((flat) => mapOf(flat as string[])) as [
      Fields,
      Fields,
      Fields,
    ];
    const requests = requestsOf(hashes[2] as string[]);
    const [seconds, micros] = (time as string[]).map(Number) as [number, number];
    const fresh = !locks.has('');
    const others = fresh ? await this.#listeners(['']) : new Map<string, number>();
    const differs = batch.run !== undefined && !locks.get('')?.endsWith(` ${batch.run}`);
    const info = fresh || differs ? String(await this.#call('INFO', 'server')) : '';
    const world = {
      now: seconds * 1e6 + micros,
      uptime: Number(/^uptime_in_seconds:(-?\d+)/m.exec(info)?.[1] ?? 0) * 1000,
      run: /^run_id:(\w{8})/m.exec(info)?.[1],
    };

    // Who listens is asked for when it turns out to matter, and then everything is done again.
    const listeners = new Map<string, number>();
    for (;;) {
      const state = load(locks, sessions, requests);
      const messages: [channel: string, message: Message][] = [];
      const unknown: string[] = [];
      const view: World = {
        ...world,
        announce: (message) => {
          messages.push(['', message]);
          return others.get('') ?? 0;
        },
        tell: (process, message) => {
          if (message.name === 'held' && !listeners.has(process)) unknown.push(process);
          if (listeners.get(process) !== 0) messages.push([process, message]);
          return listeners.get(process) ?? 0;
        },
      };
      const reply = apply(state, batch, view);
      if (reply.name !== 'done') {
        await this.#call('UNWATCH');
        return reply;
      }
      if (unknown.length > 0) {
        for (const [process, count] of await this.#listeners(unknown))
          listeners.set(process, count);
        continue;
      }
      const after = store(state);
      const before = new Set([...requests].flatMap(([id, request]) => membersOf(id, request)));
      const joined = [...after.queue].filter((member) => !before.has(member));
      const left = [...before].filter((member) => !after.queue.has(member));
      const ahead = Math.max(0, (state.clock?.token ?? 0) - world.now) / 1000;
      const lifetime = `${Math.max(Number(life), Math.ceil(3 * batch.ttl + ahead))}`;
      const committed = await this.#commit(
        [
          ...changesOf(locksKey, locks, after.locks),
          ...changesOf(sessionsKey, sessions, after.sessions),
          ...changesOf(requestsKey, records, after.requests),
          ...(joined.length > 0
            ? [['ZADD', queueKey, ...joined.flatMap((member) => ['0', member])]]
            : []),
          ...(left.length > 0 ? [['ZREM', queueKey, ...left]] : []),
          ...this.#keys.map((key) => ['PEXPIRE', key, lifetime]),
          ...messages.map(([process, message]) => [
            this.#factory.channels === 'sharded' ? 'SPUBLISH' : 'PUBLISH',
            channelOf(this.#channelBase, process),
            encodeMessage(message),
          ]),
          ...this.#turns.end,
        ],
        reply,
      );
      if (committed === undefined) this.#turns.failed(performance.now() - begun);
      else this.#turns.ended();
      return committed;
    }
  }

  async #commit(commands: readonly string[][], reply: Reply): Promise<Reply | undefined> {
    const answers = await Promise.allSettled([
      this.#call('MULTI'),
      ...commands.map((command) => this.#call(...command)),
      this.#call('EXEC'),
    ]);
    // A command that was refused has made EXEC fail; its own error says why.
    const refused = answers.find(({ status }) => status === 'rejected');
    if (refused !== undefined) throw (refused as PromiseRejectedResult).reason;
    const executed = (answers.at(-1) as PromiseFulfilledResult<unknown>).value;
    if (executed === null) return undefined;
    const failed = (executed as unknown[]).find((answer) => answer instanceof Error);
    if (failed !== undefined) throw failed;
    return reply;
  }

  /** How many listen to each of these processes. */
  async #listeners(processes: readonly string[]): Promise<Map<string, number>> {
    const channels = processes.map((name) => channelOf(this.#channelBase, name));
    const count = this.#factory.channels === 'sharded' ? 'SHARDNUMSUB' : 'NUMSUB';
    const answer = mapOf((await this.#call('PUBSUB', count, ...channels)) as string[]);
    return new Map(processes.map((name, i) => [name, Number(answer.get(channels[i] as string))]));
  }
}
