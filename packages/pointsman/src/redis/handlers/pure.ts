/**
 * The handler `pure`, for servers that do not allow Lua. It reads the whole namespace under WATCH, applies the batch
 * here, and writes the difference in a transaction: two round trips. If another process has written meanwhile, it
 * retries.
 *
 * Invariant: a write was computed from the state that the server still has. The time is that of the read; a delayed
 * transaction only overestimates the other leases and underestimates its own.
 */

import { apply } from '../../shared/protocol/apply.js';
import type { Batch, Reply } from '../../shared/protocol/protocol.js';
import { recordsOf } from '../../shared/protocol/starts-wire.js';
import { emptyState, type State, type World } from '../../shared/protocol/state.js';
import { encodeMessage, mapOf, signMessage } from '../../shared/protocol/wire.js';
import { ConnectionLostError } from '../../shared/store.js';
import { Mutex } from '../../sync/mutex/mutex.js';
import type { CommandConnection, ConnectionFactory } from '../connection/connection.js';
import { channelOf, type keysOf, runOf, ServerHandler, turnsOf } from './handler.js';
import { kindOf } from './records.js';
import { load, type Stored, store } from './stored.js';
import { WriterQueue } from './writer-queue.js';

/** One transaction at a time per connection, because WATCH applies to all commands sent there. */
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

export class PureHandler extends ServerHandler {
  readonly #transactions: Mutex;
  /** Keeps the batches of this handler in the order of the calls. */
  readonly #batches = new Mutex();
  /** The connection that the latest batch was meant for. */
  #incarnation = 0;
  readonly #writers: WriterQueue;

  constructor(
    connection: CommandConnection,
    base: string,
    factory: Pick<ConnectionFactory, 'channels' | 'database'>,
  ) {
    super(connection, base, factory);
    const shared = transactions.get(connection) ?? new Mutex();
    transactions.set(connection, shared);
    this.#transactions = shared;
    this.#writers = new WriterQueue((...command) => this.call(...command), turnsOf(base));
  }

  async prepare(): Promise<void> {}

  exchange(batch: Batch): Promise<Reply> {
    this.#incarnation = batch.incarnation;
    return this.#batches.run(async () => {
      try {
        for (;;) {
          // A batch behind this one carries the same operations over a newer connection. If both were applied, the
          // backlog could take longer than a lease and lose the next connection too.
          if (batch.incarnation < this.#incarnation) {
            throw new ConnectionLostError('the connection that the batch was meant for is lost');
          }
          const reply = await this.#transactions.run(() => this.#attempt(batch));
          if (reply !== undefined) return reply;
          // Other batches may use the connection during the wait.
          await this.#writers.wait(batch.ttl);
        }
      } finally {
        // If the batch was sent again, its copy keeps the place in the queue.
        if (batch.incarnation === this.#incarnation) await this.#writers.quit();
      }
    });
  }

  /** Returns undefined if another process has written first, or has to write first. */
  async #attempt(batch: Batch): Promise<Reply | undefined> {
    const [stateKey, indexKey] = this.keys;
    const begun = performance.now();
    const kind = kindOf(batch);
    const names = [...recordsOf(batch.operations)];
    const recordKeys = names.map((name) => kind.keyOf(this.base, name));
    const [, first, texts, time, life, flat, whole] = await Promise.all([
      this.call('WATCH', ...this.keys, ...recordKeys),
      this.#writers.first(),
      names.length === 0 ? [] : this.call('MGET', ...recordKeys),
      this.call('TIME'),
      this.call('PTTL', stateKey),
      this.call('HGETALL', stateKey),
      this.call('ZSCORE', indexKey, ''),
    ]);
    if (!this.#writers.mayWrite(first)) {
      await this.call('UNWATCH');
      return undefined;
    }
    const fields = mapOf(flat as string[]);
    const [seconds, micros] = (time as string[]).map(Number) as [number, number];
    const stored = texts as (string | null)[];
    const changesOfRecords = (state: State): string[][] =>
      recordKeys.flatMap((key, i): string[][] => {
        const before = stored[i];
        const after = kind.store(state, names[i] as string, world.now);
        if (after === undefined) return before === null ? [] : [['DEL', key]];
        if (after.text === before || after.left === Infinity) return [];
        return [['SET', key, after.text, 'PX', `${after.left}`]];
      });
    const clock = fields.get('')?.split(' ');
    const fresh = clock === undefined;
    const index = whole === null ? new Set<string>() : store(load(fields)).index;
    const others = fresh ? await this.#listeners(['']) : new Map<string, number>();
    const differs = batch.run !== undefined && clock?.[5] !== batch.run;
    const info = fresh || differs ? String(await this.call('INFO', 'server')) : '';
    const world = {
      now: seconds * 1e6 + micros,
      uptime: Number(/^uptime_in_seconds:(-?\d+)/m.exec(info)?.[1] ?? 0) * 1000,
      run: runOf(info),
    };

    // The number of listeners is queried when it matters, and the batch is then applied again.
    const listeners = new Map<string, number>();
    for (;;) {
      const state = batch.join === 'none' ? emptyState() : load(fields);
      for (const [i, text] of stored.entries()) {
        if (text !== null) kind.load(state, names[i] as string, text);
      }
      const messages: [process: string, text: string][] = [];
      const unknown: string[] = [];
      const view: World = {
        ...world,
        announce: (message) => {
          messages.push(['', encodeMessage(message)]);
          return others.get('') ?? 0;
        },
        send: (process, message, secret) => {
          if (message.name === 'held' && !listeners.has(process)) unknown.push(process);
          if (listeners.get(process) !== 0) messages.push([process, signMessage(message, secret)]);
          return listeners.get(process) ?? 0;
        },
      };
      const reply = apply(state, batch, view);
      if (reply.name !== 'done') {
        await this.call('UNWATCH');
        return reply;
      }
      if (unknown.length > 0) {
        for (const [process, count] of await this.#listeners(unknown))
          listeners.set(process, count);
        continue;
      }
      const changes = changesOfRecords(state);
      if (batch.join === 'none') {
        if (changes.length > 0) return this.#commit([...changes, ...this.#writers.end], reply);
        await this.call('UNWATCH');
        return reply;
      }
      const ahead = Math.max(0, (state.clock?.token ?? 0) - world.now) / 1000;
      const lifetime = `${Math.max(Number(life), Math.ceil(3 * batch.ttl + ahead))}`;
      const committed = await this.#commit(
        [
          ...changesOf(this.keys, { fields, index }, store(state)),
          ...changes,
          ...this.keys.map((key) => ['PEXPIRE', key, lifetime]),
          ...messages.map(([process, text]) => [
            this.publish,
            channelOf(this.channelBase, process),
            text,
          ]),
          ...this.#writers.end,
        ],
        reply,
      );
      if (committed === undefined) this.#writers.failed(performance.now() - begun);
      else this.#writers.ended();
      return committed;
    }
  }

  async #commit(commands: readonly string[][], reply: Reply): Promise<Reply | undefined> {
    const replies = await Promise.allSettled([
      this.call('MULTI'),
      ...commands.map((command) => this.call(...command)),
      this.call('EXEC'),
    ]);
    // A refused command makes EXEC fail; its own error has the reason.
    const refused = replies.find(({ status }) => status === 'rejected');
    if (refused !== undefined) throw (refused as PromiseRejectedResult).reason;
    const executed = (replies.at(-1) as PromiseFulfilledResult<unknown>).value;
    if (executed === null) return undefined;
    const failed = (executed as unknown[]).find((reply) => reply instanceof Error);
    if (failed !== undefined) throw failed;
    return reply;
  }

  async #listeners(processes: readonly string[]): Promise<Map<string, number>> {
    const channels = processes.map((name) => channelOf(this.channelBase, name));
    const count = this.sharded ? 'SHARDNUMSUB' : 'NUMSUB';
    const counts = mapOf((await this.call('PUBSUB', count, ...channels)) as string[]);
    return new Map(processes.map((name, i) => [name, Number(counts.get(channels[i] as string))]));
  }
}
