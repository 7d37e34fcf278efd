/**
 * The script, the handler `pure` and the reference implementation agree on the starts of limiters: random batches are
 * applied to a real server, and the reference must produce the same replies and states.
 *
 * Time passes by changes to the stored states. The server's clock is read from a key that each batch changes.
 */
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { soon } from '../../../tests/redis/scene.js';
import { type Server, startServer } from '../../../tests/servers/server.js';
import { connectionsOf } from '../../redis/connection/clients.js';
import type { CommandConnection } from '../../redis/connection/connection.js';
import { baseOf, type Handler, limiterKeyOf } from '../../redis/handlers/handler.js';
import { PureHandler } from '../../redis/handlers/pure.js';
import { ScriptHandler } from '../../redis/handlers/script.js';
import { loadStarts, storeStarts } from '../../redis/handlers/stored-starts.js';
import { apply } from './apply.js';
import type { Batch, HeldKey, Operation } from './protocol.js';
import type { StartRate } from './rate-log.js';
import type { StartGroup, StartsState } from './starts.js';
import { emptyState } from './state.js';

/** The names contain every character with a meaning in the stored form. */
const limiters = ['a', 'b c', 'schlüssel:\n=1 2 3 4 w'] as const;
const second = 1_000_000;
const rateSets: readonly (readonly StartRate[])[] = [
  [{ name: 'rate', limit: 3, per: 60 * second, burst: 0 }],
  [{ name: 'rate', limit: 200, per: 60 * second, burst: 0 }],
  [{ name: 'rate', limit: 3, per: 2 * second, burst: 0 }],
  [{ name: '', limit: 7, per: 3 * second, burst: 5 }],
  [{ name: '', limit: 30_000, per: second, burst: 100 }],
  [
    { name: 'tökens = 1', limit: 1e11, per: 366 * 86_400 * second, burst: 0 },
    { name: 'rate', limit: 130, per: 20 * second, burst: 0 },
  ],
  [],
];

let server: Server;
let client: Redis;
let commands: CommandConnection;

beforeAll(async () => {
  server = await startServer();
  // A server that has just started may have lost its data, so its first locks would wait for a lease.
  const info = async () => String(await server.command('INFO', 'server'));
  await vi.waitFor(async () => expect(await info()).toMatch(/^uptime_in_seconds:[1-9]/m), soon);
  client = new Redis(server.port);
  commands = connectionsOf(client).commands({ up: () => {}, down: () => {} });
}, 20_000);

afterAll(async () => {
  await commands?.close();
  client?.disconnect();
  await server?.stop();
});

const anyGroup = fc
  .record({
    limiter: fc.constantFrom(...limiters),
    rates: fc.constantFrom(...rateSets),
    weights: fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 150 })),
  })
  .map(({ limiter, rates, weights }) => ({
    limiter,
    rates,
    weights: rates.map((_, i) => weights[i] as number),
  }));

const anyGroups = fc
  .array(anyGroup, { minLength: 1, maxLength: 2 })
  .map((groups) => groups.filter(({ limiter }, i) => i === 0 || limiter !== groups[0]?.limiter))
  .map((groups) => groups.sort((a, b) => +(a.rates.length === 0) - +(b.rates.length === 0)));

/** In a batch with a session, the first two requests hold their keys, and the third does not. */
const keys = [
  { id: 'p.0/1', key: 'k' },
  { id: 'p.0/2', key: 'schlüssel:\n' },
  { id: 'p.0/3', key: 'k' },
] as const;
const [one, two, other] = keys;
const heldKeys = [[one], [two], [one, two], [other], [one, other]];
const share = { weight: 1, limit: 1 };
const lockOf = ({ id, key }: HeldKey): Operation => ({
  name: 'lock',
  id,
  tokens: 1,
  wait: false,
  keys: [key],
  optional: [],
  share,
});

/** Each limiter with a window of its own, as most have, and penalties of another. */
const aloneGroups = fc
  .record({
    i: fc.nat({ max: 1 }),
    weight: fc.constantFrom(1, 1, 1, 2, 60),
    others: fc.constantFrom([], [], [2]),
  })
  .map(({ i, weight, others }) => [
    { limiter: limiters[i] as string, rates: rateSets[i + 1] as StartRate[], weights: [weight] },
    ...others.map((other) => ({ limiter: limiters[other] as string, rates: [], weights: [] })),
  ]);

type Groups = fc.Arbitrary<StartGroup[]>;

const operationOf = (anyGroups: Groups): fc.Arbitrary<Operation> =>
  fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({
        name: fc.constant('start' as const),
        groups: anyGroups,
        within: fc.constantFrom(-1, 0, 0, 40_000, 100 * second),
        count: fc.constantFrom(1, 1, 1, 10),
        time: fc.constantFrom(10_000, 400_000),
        look: fc.constantFrom(false, false, false, false, true),
        held: fc.constantFrom([], [], ...heldKeys),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ groups: anyGroups, sign: fc.constantFrom(-1, -1, 1) }).map(
        ({ groups, sign }): Operation => ({
          name: 'correct',
          groups: groups.map(({ weights, ...group }) => ({
            ...group,
            weights: weights.map((weight) => sign * weight),
          })),
          at: groups.map(() => 0),
        }),
      ),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        name: fc.constant('penalize' as const),
        limiter: fc.constantFrom(...limiters),
        time: fc.constantFrom(0, 1, second),
      }),
    },
  );

type Action =
  | { readonly do: 'batch'; readonly operations: Operation[]; pure: boolean; mixed: boolean }
  | { readonly do: 'pass'; readonly time: number };

const actionOf = (anyOperation: fc.Arbitrary<Operation>): fc.Arbitrary<Action> =>
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('batch' as const),
        operations: fc.array(anyOperation, { minLength: 1, maxLength: 8 }),
        pure: fc.boolean(),
        mixed: fc.boolean(),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('pass' as const),
        time: fc.constantFrom(1, 30_000, 500_000, 2 * second, 61 * second, -700_000),
      }),
    },
  );

const shifted = (state: StartsState, by: number): StartsState => ({
  ...state,
  seen: state.seen - by,
  last: Math.max(0, state.last - by),
  until: Math.max(0, state.until - by),
  logs: state.logs.map((log) => ({
    ...log,
    edge: Math.max(0, log.edge - by),
    times: log.times.map((time) => time - by),
  })),
});

const CLOCK = 'clock';
let runs = 0;

async function play(actions: readonly Action[]): Promise<void> {
  const base = baseOf('', `run-${++runs}`);
  const where = { channels: 'plain', database: 0 } as const;
  const handlers: Handler[] = [
    new ScriptHandler(commands, base, where),
    new PureHandler(commands, base, where),
  ];
  for (const handler of handlers) await handler.prepare();
  const keyOf = (limiter: string): string => limiterKeyOf(base, limiter);
  const read = async (): Promise<Map<string, StartsState>> => {
    const states = new Map<string, StartsState>();
    for (const limiter of limiters) {
      const text = await client.get(keyOf(limiter));
      if (text !== null) states.set(limiter, loadStarts(text));
    }
    return states;
  };
  /** The moments of the last start, which a correction names. */
  let at = [0, 0];
  for (const action of actions) {
    // One that is about to expire would make the outcome unpredictable.
    for (const limiter of limiters) {
      if ((await client.pttl(keyOf(limiter))) < 1_000) await client.del(keyOf(limiter));
    }
    const before = await read();
    if (action.do === 'pass') {
      for (const [limiter, state] of before) {
        await client.set(keyOf(limiter), storeStarts(shifted(state, action.time)), 'KEEPTTL');
      }
      continue;
    }
    const operations = action.operations.map(
      (operation): Operation =>
        operation.name === 'correct' ? { ...operation, at } : { ...operation },
    );
    await client.del(keyOf(CLOCK));
    operations.push({ name: 'penalize', limiter: CLOCK, time: 1e9 });
    if (action.mixed) {
      operations.unshift(...keys.map(lockOf));
      operations.push(...keys.map(({ id, key }) => ({ name: 'unlock', id, keys: [key] }) as const));
    } else {
      for (const each of operations) delete (each as { held?: unknown }).held;
    }
    const batch: Batch = {
      session: 'p.0',
      secret: 's',
      ttl: 500,
      incarnation: 1,
      join: action.mixed ? 'new' : 'none',
      operations,
    };
    const handler = handlers[action.pure ? 1 : 0] as Handler;
    const reply = await handler.exchange(batch);
    if (reply.name !== 'done') throw new Error(reply.name);
    const now = loadStarts((await client.get(keyOf(CLOCK))) as string).seen;

    const state = { ...emptyState(), limiters: structuredClone(before) };
    const world = { now, uptime: 1e6, run: 'r', announce: () => 0, send: () => 0 };
    const predicted = apply(state, batch, world);
    if (predicted.name !== 'done') throw new Error(predicted.name);
    const starts = ({ name }: { name: string }): boolean => name === 'start';
    expect(reply.results.filter(starts)).toEqual(predicted.results.filter(starts));
    const actual = await read();
    for (const [limiter, after] of [...state.limiters]) {
      if (after.expires === Number.POSITIVE_INFINITY || limiter === CLOCK) continue;
      const life = (after.expires - now) / 1000;
      const left = actual.has(limiter) ? await client.pttl(keyOf(limiter)) : -2;
      // It may have expired since.
      if (life < 1_500 && !actual.has(limiter)) {
        state.limiters.delete(limiter);
        continue;
      }
      expect(left).toBeLessThanOrEqual(Math.ceil(life));
      expect(left).toBeGreaterThan(life - 5_000);
      after.expires = Number.POSITIVE_INFINITY;
    }
    state.limiters.delete(CLOCK);
    expect(actual).toEqual(state.limiters);
    for (const result of reply.results) {
      if (result.name === 'start' && result.at.length > 0) at = [...result.at, 0];
    }
  }
}

describe('script, pure and reference agree', () => {
  for (const [name, groups] of [
    ['on any limiters', anyGroups],
    ['on limiters with one window each', aloneGroups],
  ] as const) {
    test(name, { timeout: 120_000 }, async () => {
      const actions = fc.array(actionOf(operationOf(groups)), {
        minLength: 5,
        maxLength: 40,
        size: 'max',
      });
      await fc.assert(fc.asyncProperty(actions, play), { numRuns: 40 });
    });
  }
});
