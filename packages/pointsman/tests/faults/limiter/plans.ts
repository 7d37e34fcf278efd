/** The limiters of a trial: how they limit, and how every process loads them. */

export interface Rate {
  readonly name: string;
  readonly limit: number;
  /** Milliseconds. */
  readonly per: number;
  readonly burst?: number;
}

export interface Plan {
  readonly name: string;
  readonly rate: readonly Rate[];
  readonly perKey?: { readonly rate: readonly Rate[] };
  readonly concurrency?: number;
  readonly lease?: number;
  /** The keys of the requests; without `perKey` all limits are of all keys together. */
  readonly keys: readonly string[];
  /** Requests have a weight from 1 to this. Those above 1 may be settled, with less or with more. */
  readonly heaviest: number;
  /** The number of tasks of a process that request one start after another. */
  readonly waiters: number;
  /** The number of tasks that poll with `check`. */
  readonly pollers: number;
  /** The share of the limit that has to be used while nothing fails, by all that is documented. */
  readonly used?: number;
}

export const plans: readonly Plan[] = [
  {
    name: 'exact',
    rate: [{ name: 'rate', limit: 50, per: 500 }],
    keys: ['a'],
    heaviest: 1,
    waiters: 6,
    pollers: 2,
    used: 0.98,
  },
  {
    name: 'high',
    rate: [{ name: 'rate', limit: 500, per: 1_000 }],
    keys: ['a', 'b', 'c'],
    heaviest: 1,
    waiters: 12,
    pollers: 0,
    used: 0.98,
  },
  {
    name: 'leased',
    rate: [{ name: 'rate', limit: 2_000, per: 2_000 }],
    lease: 10,
    keys: ['a'],
    heaviest: 1,
    waiters: 16,
    pollers: 0,
    used: 0.97,
  },
  {
    name: 'mixed',
    rate: [
      { name: 'window', limit: 200, per: 1_000 },
      { name: 'bucket', limit: 300, per: 1_000, burst: 40 },
    ],
    perKey: { rate: [{ name: 'tenant', limit: 60, per: 500 }] },
    concurrency: 8,
    keys: ['a', 'b', 'c'],
    heaviest: 4,
    waiters: 9,
    pollers: 0,
  },
];
