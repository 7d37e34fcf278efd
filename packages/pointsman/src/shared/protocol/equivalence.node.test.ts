/**
 * The script, the handler `pure` and the reference implementation are equivalent: random batches are applied to a real
 * server, and the reference must produce the same replies, messages and state.
 *
 * Time passes by changes to the clock in the stored state.
 */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  type Action,
  anyCase,
  type Case,
  processes,
  requests,
  secretOf,
  sessions,
  ttls,
} from '../../../tests/redis/batches.js';
import { type Server, startServer } from '../../../tests/servers/server.js';
import { connectionsOf } from '../../redis/connection/clients.js';
import type { CommandConnection } from '../../redis/connection/connection.js';
import { baseOf, channelOf, type Handler, keysOf } from '../../redis/handlers/handler.js';
import { PureHandler } from '../../redis/handlers/pure.js';
import { ScriptHandler } from '../../redis/handlers/script.js';
import { load, store } from '../../redis/handlers/stored.js';
import { apply } from './apply.js';
import { type Batch, type Message, type Operation, type Reply, sessionOf } from './protocol.js';
import type { State } from './state.js';
import { openMessage } from './wire.js';

let server: Server;
let client: Redis;
let commands: CommandConnection;
let listeners: Redis[];
/** The run of the server. */
let run: string;

beforeAll(async () => {
  // Hashes then keep the order of insertion, like maps.
  server = await startServer({ args: ['--hash-max-listpack-value', '100000'] });
  client = new Redis(server.port);
  commands = connectionsOf(client).commands({ up: () => {}, down: () => {} });
  run = /^run_id:(\w{8})/m.exec(await client.info('server'))?.[1] as string;
  listeners = processes.map(() => new Redis(server.port));
  await vi.waitUntil(async () => (await uptime()) >= ttls.short, { timeout: 5_000 });
}, 20_000);

afterAll(async () => {
  await commands?.close();
  for (const connection of [client, ...(listeners ?? [])]) connection?.disconnect();
  await server?.stop();
});

async function uptime(): Promise<number> {
  const info = await client.info('server');
  return Number(/uptime_in_seconds:(\d+)/.exec(info)?.[1]) * 1000;
}

/** A forced unlock uses a token that was visible before. */
const withTokens = (batch: Batch, { locks, shares }: State): Batch => ({
  ...batch,
  operations: batch.operations.map((operation) => {
    if (operation.name !== 'take' || operation.token !== 0) return operation;
    const holds = [...locks.values(), ...[...shares.values()].flat()];
    const held = holds.find(({ id }) => id === operation.id);
    return { ...operation, token: held?.token ?? 1 };
  }),
});

/** The outcome of a batch. */
interface Outcome {
  readonly reply: Reply;
  /** The messages to each process. */
  readonly told: readonly (readonly Message[])[];
  readonly state: State;
}

/** Decodes a message; throws if it is not signed for its session. */
function heard(text: string): Message {
  for (const session of sessions) {
    const message = openMessage(text, secretOf(session));
    if (message === undefined) continue;
    if (message.name === 'lost') return message;
    const { id } = message.name === 'held' ? message.grant : message;
    if (sessionOf(id) === session) return message;
  }
  throw new Error(`not signed: ${text}`);
}

/** A namespace and its listeners. */
class Namespace {
  readonly base: string;
  readonly keys: readonly string[];
  readonly script: Handler;
  readonly pure: Handler;
  readonly listening = processes.map(() => false);
  readonly #told: Message[][] = processes.map(() => []);
  readonly #hear: ((channel: string, text: string) => void)[];
  /** Whether a field was deleted by hand. */
  #touched = false;

  constructor(name: string) {
    this.base = baseOf('', name);
    this.keys = keysOf(this.base);
    const where = { channels: 'plain', database: 0 } as const;
    this.script = new ScriptHandler(commands, this.base, where);
    this.pure = new PureHandler(commands, this.base, where);
    this.#hear = listeners.map((listener, i) => {
      const hear = (_: string, text: string) => this.#told[i]?.push(heard(text));
      listener.on('message', hear);
      return hear;
    });
  }

  async listen(i: number, on: boolean): Promise<void> {
    this.listening[i] = on;
    const channels = [channelOf(this.base), channelOf(this.base, processes[i])];
    if (on) await listeners[i]?.subscribe(...channels);
    else await listeners[i]?.unsubscribe(...channels);
  }

  /** Returns the messages since the last call. The reply to a subscriber arrives after all its messages. */
  async told(): Promise<Message[][]> {
    await Promise.all(listeners.map((listener) => listener.ping()));
    return this.#told.map((messages) => messages.splice(0));
  }

  async delete(field: string): Promise<void> {
    const deleted = await client.hdel(this.keys[0] as string, field);
    if (deleted > 0) this.#touched = true;
  }

  async state(): Promise<State> {
    const [fields, members, ...lives] = await Promise.all([
      client.hgetall(this.keys[0] as string),
      client.zrange(this.keys[1] as string, '0', '-1'),
      ...this.keys.map((key) => client.pttl(key)),
    ]);
    // -1: the key would never expire.
    expect(lives).not.toContain(-1);
    const state = load(new Map(Object.entries(fields)));
    if (members.length > 0) {
      // Index members of fields deleted by hand are removed when they are read.
      const { index } = store(state);
      if (this.#touched) expect(new Set(members)).toEqual(new Set([...members, ...index]));
      else expect(new Set(members)).toEqual(index);
    }
    expect(store(state).fields).toEqual(new Map(Object.entries(fields)));
    return state;
  }

  end(): void {
    for (const [i, hear] of this.#hear.entries()) listeners[i]?.off('message', hear);
  }
}

const copyOf = (state: State): State => structuredClone(state);

/** The outcome of the reference, with the server's clock at `now` microseconds. */
function predict(
  before: State,
  batch: Batch,
  listening: readonly boolean[],
  now: number,
  uptime: number,
): Outcome {
  const state = copyOf(before);
  const told: Message[][] = processes.map(() => []);
  const reply = apply(state, batch, {
    now,
    uptime,
    run,
    announce: (message) => {
      told.forEach((messages, i) => {
        if (listening[i]) messages.push(message);
      });
      return listening.filter(Boolean).length;
    },
    send: (process, message) => {
      const i = processes.indexOf(process as never);
      if (!listening[i]) return 0;
      told[i]?.push(message);
      return 1;
    },
  });
  return { reply, told, state };
}

/** The tokens in an outcome. */
function tokensOf({ reply, told, state }: Outcome): number[] {
  const done = reply.name === 'done' ? reply : { results: [], grants: [] };
  return [
    ...done.results.flatMap((result) => (result.name === 'held' ? result.grant.token : [])),
    ...done.grants.map(({ token }) => token),
    ...told.flat().flatMap((message) => (message.name === 'held' ? message.grant.token : [])),
    ...(state.clock === undefined ? [] : [state.clock.token]),
  ];
}

/**
 * The microseconds at which the batch may have been applied. The script does not report its clock, which shows only in
 * the tokens, or in whether the state was dropped.
 */
function moments(actual: Outcome, predicted: Outcome, before: State, least: number): number[] {
  const shifts = tokensOf(actual).map((token, i) => token - (tokensOf(predicted)[i] ?? token));
  const base = Math.max(least, (before.clock?.token ?? 0) + 1);
  const found = [least, least + 999, ...shifts.map((shift) => base + shift)];
  return found.filter((now) => now >= least && now < least + 1000);
}

function sentBy(
  { batch, ahead, run: connected }: Action & { do: 'batch' },
  { clock }: State,
): Batch {
  return {
    ...batch,
    ...(ahead !== undefined && clock !== undefined && { time: clock.time + ahead }),
    ...(connected !== undefined && { run: connected === 'this' ? run : 'another' }),
  };
}

let runs = 0;

async function play({ listening, actions }: Case): Promise<void> {
  const namespace = new Namespace(`run-${++runs}`);
  const sent: Batch[] = [];
  const up = await uptime();
  await namespace.script.prepare();
  await Promise.all(listening.map((on, i) => on && namespace.listen(i, true)));
  try {
    for (const action of actions) {
      const before = await namespace.state();
      if (action.do === 'listen') {
        await namespace.listen(action.process, !namespace.listening[action.process]);
        continue;
      }
      if (action.do === 'flush') {
        await client.del(...namespace.keys);
        continue;
      }
      if (action.do === 'delete') {
        await namespace.delete(action.field);
        continue;
      }
      if (action.do === 'evict') {
        await client.del(namespace.keys[1] as string);
        continue;
      }
      if (action.do === 'pass' || action.do === 'restart') {
        const { clock } = before;
        if (clock === undefined) continue;
        const { seen, run } = clock;
        const moved =
          action.do === 'pass'
            ? { seen: seen - action.time, run }
            : { seen, run: 'an-earlier-one' };
        const { fields } = store({ ...before, clock: { ...clock, ...moved } });
        await client.hset(namespace.keys[0] as string, '', fields.get('') as string);
        continue;
      }
      const batch =
        action.do === 'batch'
          ? withTokens(sentBy(action, before), before)
          : sent[action.earlier % sent.length];
      if (batch === undefined) continue;
      sent.push(batch);
      const handler = action.pure ? namespace.pure : namespace.script;
      const begun = Date.now();
      const reply = await handler.exchange(batch);
      const ended = Date.now();
      const actual = { reply, told: await namespace.told(), state: await namespace.state() };

      const possible: Outcome[] = [];
      for (let least = begun * 1000; least <= ended * 1000; least += 1000) {
        const predicted = predict(before, batch, namespace.listening, least, up);
        for (const now of moments(actual, predicted, before, least)) {
          possible.push(predict(before, batch, namespace.listening, now, up));
        }
      }
      if (!possible.some((outcome) => isDeepStrictEqual(outcome, actual))) {
        expect({ batch, before, ...actual }).toEqual({ batch, before, ...possible.at(-1) });
      }
    }
  } finally {
    namespace.end();
  }
}

test('script, pure and reference are equivalent', { timeout: 60_000 }, async () => {
  await fc.assert(fc.asyncProperty(anyCase, play), { numRuns: 150 });
});

test('a parked request that is sent again is not granted its keys', async () => {
  const [session] = sessions;
  const { id, keys } = requests[0] as (typeof requests)[number];
  const batch = (operation: Operation): Action => ({
    do: 'batch',
    batch: {
      session,
      secret: secretOf(session),
      ttl: ttls.short,
      incarnation: 1,
      join: 'new',
      operations: [operation],
    },
    pure: false,
    ahead: 0,
    run: 'this',
  });
  await play({
    listening: [true, false, false],
    actions: [
      batch({ name: 'wait', id, condition: 'c', keys }),
      batch({ name: 'lock', id, tokens: 1, wait: true, keys, optional: [] }),
    ],
  });
});
