/**
 * The script, the handler `pure` and the reference implementation agree on counters: random batches are applied to a
 * real server, and the reference must produce the same replies and states.
 *
 * Time passes by changes to the stored states. The server's clock is read from a counter that each batch begins.
 */
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Server, startServer } from '../../../tests/servers/server.js';
import { connectionsOf } from '../../redis/connection/clients.js';
import type { CommandConnection } from '../../redis/connection/connection.js';
import { baseOf, counterKeyOf, type Handler } from '../../redis/handlers/handler.js';
import { PureHandler } from '../../redis/handlers/pure.js';
import { loadCounter, storeCounter } from '../../redis/handlers/records.js';
import { ScriptHandler } from '../../redis/handlers/script.js';
import { apply } from './apply.js';
import { type CounterState, leftOf } from './counters.js';
import type { Batch, Operation } from './protocol.js';
import { emptyState } from './state.js';

/** The names contain every character with a meaning in the stored form. */
const counters = ['a', 'b c', 'schlüssel:\n=1 2 3 #'] as const;
const second = 1_000;

let server: Server;
let client: Redis;
let commands: CommandConnection;

beforeAll(async () => {
  server = await startServer();
  client = new Redis(server.port);
  commands = connectionsOf(client).commands({ up: () => {}, down: () => {} });
}, 20_000);

afterAll(async () => {
  await commands?.close();
  client?.disconnect();
  await server?.stop();
});

const anyCounter = fc.constantFrom(...counters);
const anyOperation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      name: fc.constant('count' as const),
      counter: anyCounter,
      by: fc.constantFrom(1, 1, 1, 1, 7, 2 ** 53 - 1, 0, 0, -1, -1, -3),
      window: fc.constantFrom(60 * second, 20 * second, 366 * 86_400 * second, 2 ** 53 - 1),
      above: fc.constantFrom(0, 2, 5, 2 ** 53 - 1),
      growth: fc.constantFrom(0, 0, 1, 2),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ name: fc.constant('forget' as const), counter: anyCounter }),
  },
);

type Action =
  | { readonly do: 'batch'; readonly operations: Operation[]; pure: boolean }
  | { readonly do: 'pass'; readonly time: number };

const anyAction: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('batch' as const),
      operations: fc.array(anyOperation, { minLength: 1, maxLength: 8 }),
      pure: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      time: fc.constantFrom(1, 5 * second, 30 * second, 61 * second, -700),
    }),
  },
);

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
  const keyOf = (counter: string): string => counterKeyOf(base, counter);
  const read = async (): Promise<Map<string, CounterState>> => {
    const states = new Map<string, CounterState>();
    for (const counter of counters) {
      const text = await client.get(keyOf(counter));
      if (text !== null) states.set(counter, loadCounter(text));
    }
    return states;
  };
  for (const action of actions) {
    // One that is about to expire would make the outcome unpredictable.
    for (const counter of counters) {
      if ((await client.pttl(keyOf(counter))) < second) await client.del(keyOf(counter));
    }
    const before = await read();
    if (action.do === 'pass') {
      for (const [counter, state] of before) {
        const shifted = storeCounter({ ...state, began: state.began - action.time });
        await client.set(keyOf(counter), shifted, 'KEEPTTL');
      }
      continue;
    }
    await client.del(keyOf(CLOCK));
    const tick = { counter: CLOCK, by: 1, window: 60 * second, above: 0, growth: 0 };
    const operations: Operation[] = [...action.operations, { name: 'count', ...tick }];
    const batch: Batch = {
      session: '',
      secret: '',
      ttl: 60_000,
      incarnation: 1,
      join: 'none',
      operations,
    };
    const reply = await (handlers[action.pure ? 1 : 0] as Handler).exchange(batch);
    const now = loadCounter((await client.get(keyOf(CLOCK))) as string).began;

    const state = { ...emptyState(), counters: structuredClone(before) };
    const micros = now * 1_000;
    const world = { now: micros, uptime: 1e6, run: 'r', announce: () => 0, send: () => 0 };
    expect(reply).toEqual(apply(state, batch, world));
    const actual = await read();
    // The server deletes those whose window has ended, and the script leaves others to it.
    for (const [counter, { began, span }] of [...actual]) {
      const left = span - (now - Math.min(began, now));
      if (left <= 0) actual.delete(counter);
      else expect(await client.pttl(keyOf(counter))).toBeGreaterThan(left - 5 * second);
    }
    state.counters.delete(CLOCK);
    for (const [counter, each] of [...state.counters]) {
      if (leftOf(each, now) <= 0) state.counters.delete(counter);
    }
    expect(actual).toEqual(state.counters);
    for (const counter of counters) {
      const after = state.counters.get(counter);
      if (after === undefined || JSON.stringify(after) === JSON.stringify(before.get(counter)))
        continue;
      // The client's numbers are exact up to the longest window only.
      expect(await client.pttl(keyOf(counter))).toBeLessThanOrEqual(leftOf(after, now) + 1);
    }
  }
}

test('script, pure and reference agree', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyAction, { minLength: 5, maxLength: 40, size: 'max' }), play),
    { numRuns: 40 },
  );
});
