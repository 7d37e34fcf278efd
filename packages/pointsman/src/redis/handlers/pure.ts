/**
 * The handler `pure`: for servers that do not allow Lua. It reads the whole namespace under WATCH, does in
 * here what the script does there, and writes the difference in a transaction: two round trips. If another
 * process has changed the namespace meanwhile, it does so again when it is its turn.
 *
 * Invariant: what it writes was computed from what the server still has when it is written. The time is
 * that of the reading; a transaction that comes late only takes leases for longer than they are and
 * gives its own for shorter.
 */

import { Mutex } from '../../sync/mutex/mutex.js';
import {
  type CommandConnection,
  type ConnectionFactory,
  ConnectionLostError,
} from '../connection/connection.js';
import { apply, type World } from '../protocol/apply.js';
import type { Batch, Reply } from '../protocol/protocol.js';
import { encodeMessage, mapOf, signMessage } from '../protocol/wire.js';
import { channelBaseOf, channelOf, type Handler, keysOf, turnsOf } from './handler.js';
import { load, type Stored, store } from './stored.js';
import { Turns } from './turns.js';

/** One transaction at a time on a connection: its WATCH is for all that is sent there. */
const transactions = new WeakMap<CommandConnection, Mutex>();

/** The commands that turn one stored state into another; `before` has no index if the index is not complete. */
function changesOf(
  [stateKey, indexKey]: ReturnType<typeof keysOf>,
  before: Stored,
  after: Stored,
): string[][] {
  if (after.fields.size === 0) return [['DEL', stateKey, indexKey]];
  const set = [...after.fields].filter(([field, value]) => before.fields.get(field) !== value);
  const gone = [...before.fields.keys()].filter((field) => !after.fields.has(field));
  const joined = [...after.index].filter((member) => !before.index.has(member));
  const left = [...before.index].filter((member) => !after.index.has(member));
  return [
    ...(before.index.size === 0 ? [['DEL', indexKey]] : []),
    ...(set.length > 0 ? [['HSET', stateKey, ...set.flat()]] : []),
    ...(gone.length > 0 ? [['HDEL', stateKey, ...gone]] : []),
    ...(joined.length > 0
      ? [['ZADD', indexKey, ...joined.flatMap((member) => ['0', member])]]
      : []),
    ...(left.length > 0 ? [['ZREM', indexKey, ...left]] : []),
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
  /** Which connection the latest batch was meant for. */
  #incarnation = 0;
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
    this.#incarnation = batch.incarnation;
    return this.#batches.run(async () => {
      try {
        for (;;) {
          // Sent again over another connection, in a batch that waits behind this one. Done all the same, such
          // batches can take longer than a lease: the connection is lost again, and there are ever more of them.
          if (batch.incarnation < this.#incarnation) {
            throw new ConnectionLostError('the connection that the batch was meant for is lost');
          }
          const reply = await this.#transactions.run(() => this.#attempt(batch));
          if (reply !== undefined) return reply;
          // Other batches may use the connection meanwhile.
          await this.#turns.wait(batch.ttl);
        }
      } finally {
        // A batch that is sent again takes over the place in the queue.
        if (batch.incarnation === this.#incarnation) await this.#turns.quit();
      }
    });
  }

  get #channelBase(): string {
    return channelBaseOf(this.#base, this.#factory.database);
  }

  #call(...command: string[]): Promise<unknown> {
    return this.#connection.call(this.#keys[0], ...command);
  }

  /** Returns undefined if another process was faster, or it is another process's turn. */
  async #attempt(batch: Batch): Promise<Reply | undefined> {
    const [stateKey, indexKey] = this.#keys;
    const begun = performance.now();
    const [, first, time, life, flat, whole] = await Promise.all([
      this.#call('WATCH', ...this.#keys),
      this.#turns.first(),
      this.#call('TIME'),
      this.#call('PTTL', stateKey),
      this.#call('HGETALL', stateKey),
      this.#call('ZSCORE', indexKey, ''),
    ]);
    if (!this.#turns.mayWrite(first)) {
      await this.#call('UNWATCH');
      return undefined;
    }
    const fields = mapOf(flat as string[]);
    const [seconds, micros] = (time as string[]).map(Number) as [number, number];
    const clock = fields.get('')?.split(' ');
    const fresh = clock === undefined;
    const index = whole === null ? new Set<string>() : store(load(fields)).index;
    const others = fresh ? await this.#listeners(['']) : new Map<string, number>();
    const differs = batch.run !== undefined && clock?.[5] !== batch.run;
    const info = fresh || differs ? String(await this.#call('INFO', 'server')) : '';
    const world = {
      now: seconds * 1e6 + micros,
      uptime: Number(/^uptime_in_seconds:(-?\d+)/m.exec(info)?.[1] ?? 0) * 1000,
      run: /^run_id:(\w{8})/m.exec(info)?.[1],
    };

    // Who listens is asked for when it turns out to matter, and then everything is done again.
    const listeners = new Map<string, number>();
    for (;;) {
      const state = load(fields);
      const messages: [process: string, text: string][] = [];
      const unknown: string[] = [];
      const view: World = {
        ...world,
        announce: (message) => {
          messages.push(['', encodeMessage(message)]);
          return others.get('') ?? 0;
        },
        tell: (process, message, secret) => {
          if (message.name === 'held' && !listeners.has(process)) unknown.push(process);
          if (listeners.get(process) !== 0) messages.push([process, signMessage(message, secret)]);
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
      const ahead = Math.max(0, (state.clock?.token ?? 0) - world.now) / 1000;
      const lifetime = `${Math.max(Number(life), Math.ceil(3 * batch.ttl + ahead))}`;
      const committed = await this.#commit(
        [
          ...changesOf(this.#keys, { fields, index }, store(state)),
          ...this.#keys.map((key) => ['PEXPIRE', key, lifetime]),
          ...messages.map(([process, text]) => [
            this.#factory.channels === 'sharded' ? 'SPUBLISH' : 'PUBLISH',
            channelOf(this.#channelBase, process),
            text,
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
