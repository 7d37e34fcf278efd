/** Random batches of several sessions, and what happens between them: the cases of the equivalence test. */
import fc from 'fast-check';
import type { Batch, Join, Operation } from '../../src/shared/protocol/protocol.js';

/** The names contain every character with a meaning in the wire format. */
export const processes = ['p-1', '[q]~"\\{2}.', 'r%s\0:é😀'] as const;
export const sessions = [
  `${processes[0]}.0`,
  `${processes[0]}.1`,
  `${processes[1]}.0`,
  `${processes[2]}.0`,
] as const;
export const secretOf = (session: string): string => `secret-${sessions.indexOf(session as never)}`;
export const keys = ['a', 'b', 'schlüssel:', 'd'] as const;
const conditions = ['c', 'a'] as const;
/** Longer and shorter than the uptime of the server. */
export const ttls = { long: 3_600_000, short: 1_000 };

export type Action =
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

export interface Case {
  /** The processes that listen at the start. */
  readonly listening: readonly boolean[];
  readonly actions: readonly Action[];
}

/** Alone, as a reader, and with weights. */
export const shares = [
  undefined,
  undefined,
  { weight: 1, limit: 0 },
  { weight: 2, limit: 3 },
] as const;

/** A request has the same keys, and shares them in the same way, in each copy. */
export const requests = sessions.flatMap((session, s) =>
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

export const anyCase: fc.Arbitrary<Case> = fc.record({
  listening: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
  actions: fc.array(anyAction, { minLength: 5, maxLength: 40, size: 'max' }),
});
