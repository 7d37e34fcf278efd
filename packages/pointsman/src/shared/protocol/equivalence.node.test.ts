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
import { type Server, startServer } from '../../../tests/servers/server.js';
import { connectionsOf } from '../../redis/connection/clients.js';
import type { CommandConnection } from '../../redis/connection/connection.js';
import { baseOf, channelOf, type Handler, keysOf } from '../../redis/handlers/handler.js';
import { PureHandler } from '../../redis/handlers/pure.js';
import { ScriptHandler } from '../../redis/handlers/script.js';
import { load, store } from '../../redis/handlers/stored.js';
import { apply } from './apply.js';
import {
  type Batch,
  type Join,
  type Message,
  type Operation,
  type Reply,
  sessionOf,
} from './protocol.js';
import type { State } from './state.js';
import { openMessage } from './wire.js';

/** The names contain every character with a meaning in the wire format. */
const processes = ['p-1', '[q]~"\\{2}.', 'r%s\0:é😀'] as const;
const sessions = [
  `${processes[0]}.0`,
  `${processes[0]}.1`,
  `${processes[1]}.0`,
  `${processes[2]}.0`,
] as const;
const secretOf = (session: string): string => `secret-${sessions.indexOf(session as never)}`;
const keys = ['a', 'b', 'schlüssel:', 'd'] as const;
const conditions = ['c', 'a'] as const;
/** Longer and shorter than the uptime of the server. */
const ttls = { long: 3_600_000, short: 1_000 };

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

type Action =
  | {
      readonly do: 'batch';
      readonly batch: Batch;
      readonly pure: boolean;
      /** How far the sender's time is ahead of the time in the state. */
      readonly ahead: number | undefined;
      /** Whether the sender's connection is to this run of the server. */
      readonly run: 'this' | 'another' | undefined;
    }
  /** Repeats an earlier batch, as after a lost reply. */
  | { readonly do: 'again'; readonly earlier: number; readonly pure: boolean }
  /** Milliseconds; negative if the server's clock is set back. */
  | { readonly do: 'pass'; readonly time: number }
  | { readonly do: 'listen'; readonly process: number }
  | { readonly do: 'flush' }
  /** An operator deletes a field of the state. */
  | { readonly do: 'delete'; readonly field: string }
  /** The index is evicted. */
  | { readonly do: 'evict' }
  /** Marks the state as that of another run. */
  | { readonly do: 'restart' };

interface Case {
  /** The processes that listen at the start. */
  readonly listening: readonly boolean[];
  readonly actions: readonly Action[];
}

/** Alone, as a reader, and with weights. */
const shares = [undefined, undefined, { weight: 1, limit: 0 }, { weight: 2, limit: 3 }] as const;

/** A request has the same keys, and shares them in the same way, in each copy. */
const requests = sessions.flatMap((session, s) =>
  Array.from({ length: 5 }, (_, i) => ({
    session,
    id: `${session}/${i}${(s + i) % 2 === 0 ? '~' : ''}`,
    keys: [['a'], ['b'], ['a', 'b'], ['b', 'schlüssel:'], ['a', 'd', 'schlüssel:']][i] as string[],
    share: shares[(s + i) % shares.length],
  })),
);

const anyOperation = (session: string): fc.Arbitrary<Operation> => {
  const request = fc.constantFrom(...requests.filter((own) => own.session === session));
  const condition = fc.constantFrom(...conditions);
  const tokens = fc.constantFrom(1, 64);
  const lock = fc
    .record({
      request,
      tokens,
      wait: fc.constantFrom(true, true, true, false),
      more: fc.subarray([...keys]),
    })
    .map(({ request: { id, keys, share }, tokens, wait, more }): Operation => {
      if (share !== undefined) return { name: 'lock', id, tokens, wait, keys, optional: [], share };
      const optional = more.filter((key) => !keys.includes(key));
      return { name: 'lock', id, tokens, wait, keys, optional };
    });
  return fc.oneof(
    { weight: 12, arbitrary: lock },
    {
      weight: 8,
      arbitrary: request.map(({ id, keys }): Operation => ({ name: 'unlock', id, keys })),
    },
    {
      weight: 1,
      arbitrary: request.map(({ id }): Operation => ({ name: 'unlock', id, keys: ['a', 'd'] })),
    },
    {
      weight: 2,
      arbitrary: request.map(({ id, keys }): Operation => ({ name: 'check', id, keys })),
    },
    {
      weight: 2,
      arbitrary: request.map(({ id, keys }): Operation => ({ name: 'downgrade', id, keys })),
    },
    {
      weight: 1,
      arbitrary: fc
        .record({ key: fc.constantFrom(...keys), limit: fc.constantFrom(1, 2, 4) })
        .map(({ key, limit }): Operation => ({ name: 'limit', key, limit })),
    },
    {
      weight: 3,
      arbitrary: fc
        .record({ request, condition })
        .map(({ request: { id, keys }, condition }): Operation => {
          return { name: 'wait', id, condition, keys };
        }),
    },
    { weight: 1, arbitrary: request.map(({ id }): Operation => ({ name: 'wake', id })) },
    {
      weight: 2,
      arbitrary: fc.record({
        name: fc.constant('notify' as const),
        condition,
        count: fc.constantFrom(1, 2, 2 ** 31 - 1),
      }),
    },
    {
      weight: 2,
      arbitrary: fc
        .record({ request: fc.constantFrom(...requests), stale: fc.boolean() })
        .map(({ request: { id, keys }, stale }): Operation => {
          return { name: 'take', id, token: stale ? 7 : 0, keys };
        }),
    },
    { weight: 1, arbitrary: fc.constant<Operation>({ name: 'reserve', tokens: 4096 }) },
    { weight: 2, arbitrary: fc.constant<Operation>({ name: 'renew' }) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom(...sessions)
        .map((session): Operation => ({ name: 'leave', session })),
    },
    { weight: 1, arbitrary: fc.constant<Operation>({ name: 'query' }) },
  );
};

const anyBatch: fc.Arbitrary<Batch> = fc.constantFrom(...sessions).chain((session) =>
  fc.record({
    session: fc.constant(session),
    secret: fc.constant(secretOf(session)),
    ttl: fc.constantFrom(ttls.short, ttls.short, ttls.short, ttls.long),
    incarnation: fc.constantFrom(2, 2, 2, 2, 3, 1),
    join: fc.constantFrom<Join>('new', 'new', 'must', 'again'),
    operations: fc.array(anyOperation(session), { minLength: 1, maxLength: 4 }),
  }),
);

const anyAction: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.record({
      do: fc.constant('batch' as const),
      batch: anyBatch,
      pure: fc.boolean(),
      ahead: fc.constantFrom(undefined, 0, 0, 340, 500, 5_000, 5_000),
      run: fc.constantFrom<'this' | 'another' | undefined>('this', 'this', 'another', undefined),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('again' as const),
      earlier: fc.nat(),
      pure: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      time: fc.constantFrom(340, 340, 500, 500, 5_000, 5_000_000, -2_000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('listen' as const), process: fc.nat({ max: 2 }) }),
  },
  { weight: 1, arbitrary: fc.constant<Action>({ do: 'flush' }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('delete' as const),
      field: fc.constantFrom(
        ...keys.map((key) => `lock:${key}`),
        ...sessions.map((session) => `session:${session}`),
      ),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Action>({ do: 'evict' }) },
  { weight: 1, arbitrary: fc.constant<Action>({ do: 'restart' }) },
);

const anyCase: fc.Arbitrary<Case> = fc.record({
  listening: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
  actions: fc.array(anyAction, { minLength: 5, maxLength: 40, size: 'max' }),
});

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
