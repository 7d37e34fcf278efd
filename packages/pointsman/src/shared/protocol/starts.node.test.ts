/** The rules of starts: a checker replays all that was granted and judges every window. */
import { describe, expect, test } from 'vitest';
import type { StartRate } from './rate-log.js';
import {
  AHEAD,
  type StartGroup,
  type StartRequest,
  Starts,
  type StartsState,
  sweepStarts,
} from './starts.js';

const SECOND = 1_000_000;

const rate = (limit: number, per = 60 * SECOND, burst = 0, name = 'rate'): StartRate => ({
  name,
  limit,
  per,
  burst,
});

const group = (rates: readonly StartRate[], weights = rates.map(() => 1), limiter = 'a') => ({
  limiter,
  rates,
  weights,
});

const request = (groups: StartGroup[], more: Partial<StartRequest> = {}): StartRequest => ({
  groups,
  within: 0,
  count: 1,
  time: 0,
  look: false,
  ...more,
});

/** A store with a clock. */
class Store {
  readonly limiters = new Map<string, StartsState>();
  now = 1_763_900_000_000_000;

  start(groups: StartGroup[], more?: Partial<StartRequest>) {
    const starts = new Starts(this.limiters, this.now);
    const result = starts.start(request(groups, more));
    starts.end();
    return result;
  }

  correct(groups: StartGroup[], at: readonly number[]) {
    const starts = new Starts(this.limiters, this.now);
    starts.correct(groups, at);
    starts.end();
  }
}

/** A generator of the same numbers for the same seed. */
function random(seed: number) {
  let state = seed >>> 0 || 1;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return { next, below: (n: number) => Math.floor(next() * n) };
}

type Start = readonly [time: number, weights: readonly number[]];

/** Asserts the law for every window of every rate. */
function judge(rates: readonly StartRate[], starts: readonly Start[]): void {
  const sorted = [...starts].sort((a, b) => a[0] - b[0]);
  for (const [i, { limit, per, burst }] of rates.entries()) {
    const sums = [0];
    for (const [, weights] of sorted) sums.push((sums.at(-1) as number) + (weights[i] as number));
    let first = 0;
    for (const [last, [end]] of sorted.entries()) {
      if (burst > 0) {
        for (let from = 0; from <= last; from++) {
          const time = end - (sorted[from] as Start)[0];
          const sum = (sums[last + 1] as number) - (sums[from] as number);
          const most = burst + (limit * time) / per + 1e-6;
          if (sum > most) expect({ time, sum }).toEqual({ time, sum: `at most ${most}` });
        }
        continue;
      }
      while ((sorted[first] as Start)[0] <= end - per) first++;
      const sum = (sums[last + 1] as number) - (sums[first] as number);
      if (sum > limit) expect({ end, sum }).toEqual({ end, sum: `at most ${limit}` });
    }
  }
}

const rateSets: readonly (readonly StartRate[])[] = [
  [rate(1)],
  [rate(5)],
  [rate(64)],
  [rate(65)],
  [rate(1_000)],
  [rate(100, 3_333)],
  [rate(7, SECOND, 3)],
  [rate(30_000, SECOND, 100)],
  [rate(10, SECOND), rate(100, 60 * SECOND, 0, 'minute')],
  [rate(100, SECOND), rate(9_000, 60 * SECOND, 500, 'tokens')],
  [rate(200, 7 * SECOND), rate(3, 100_000, 5, 'burst'), rate(10_000, 20 * SECOND, 0, 'tokens')],
];

describe('the law holds at the real starts, also if the clock goes back', () => {
  for (const [set, rates] of rateSets.entries()) {
    test(`rates ${set}`, () => {
      for (let seed = 1; seed <= 4; seed++) {
        const { next, below } = random(seed * 97 + set);
        const store = new Store();
        // A state that is gone forgets the time of the key, too.
        let starts: Start[] = [];
        const eras = [starts];
        const late: { era: Start[]; negative: number[]; at: readonly number[] }[] = [];
        const scale = Math.max(...rates.map(({ per, limit }) => per / limit));
        let last = 0;
        for (let n = 0; n < 1_200; n++) {
          const step = next();
          if (step < 0.5) store.now += below(scale * (next() < 0.1 ? 20 : 2));
          // The clock goes back.
          else if (step < 0.52) store.now -= below(scale * 100);
          const weights = rates.map(({ limit, burst }) =>
            next() < 0.7 ? 1 : below(Math.min((burst || limit) + 1, 500)),
          );
          const groups = [group(rates, weights)];
          const within = [0, -1, scale * 3][below(3)] as number;
          const count = next() < 0.3 ? 1 + below(10) : 1;
          const time = Math.floor(scale);
          const before = structuredClone(store.limiters);
          if ((before.get('a')?.expires ?? 0) <= store.now) {
            starts = [];
            eras.push(starts);
            last = 0;
          }
          const result = store.start(groups, { within, count, time });
          if (!result.granted) {
            expect(within).not.toBe(-1);
            expect(result.delay).toBeGreaterThan(within);
            if (before.size > 0 && before.get('a')?.logs.length) {
              expect(store.limiters).toEqual(before);
            }
            continue;
          }
          const { logs = [] } = store.limiters.get('a') ?? {};
          expect(Math.max(...logs.map(({ times }) => times.length))).toBeLessThan(210);
          // The key's time, which does not go back.
          const begin = result.at[0] as number;
          const made: Start[] = [];
          for (let i = 0; i < result.count; i++) {
            const real = result.count > 1 ? begin - below(time + 1) : begin;
            made.push([real, weights]);
          }
          expect(result.count === 1 || result.delay === 0).toBe(true);
          const begun = result.count > 1 ? begin - time : begin;
          expect(begun).toBeGreaterThanOrEqual(last);
          last = begun;
          if (next() < 0.2) {
            // Some of it is given back, at once or later, and has not started.
            const back = 1 + below(made.length);
            made.splice(0, back);
            const negative = weights.map((weight) => -weight * back);
            late.push({ era: starts, negative, at: result.at });
          }
          while (late.length > 0 && next() < 0.4) {
            const { era, negative, at } = late.shift() as (typeof late)[0];
            if (era !== starts) continue;
            store.correct([group(rates, negative)], at);
            last = store.limiters.get('a')?.last ?? 0;
          }
          starts.push(...made);
        }
        for (const era of eras) judge(rates, era);
      }
    });
  }
});

describe('under load nearly all of the limit is used', () => {
  for (const limit of [3, 64, 65, 500, 10_000]) {
    test(`a limit of ${limit}`, () => {
      const { below } = random(limit);
      const rates = [rate(limit, SECOND)];
      const store = new Store();
      const begun = store.now;
      let used = 0;
      // Requests arrive three times as often as they may start; some wait.
      while (store.now < begun + 12 * SECOND) {
        store.now += Math.max(1, below((2 * SECOND) / limit / 3));
        const result = store.start([group(rates)], { within: SECOND / 20 });
        const at = result.at[0] as number;
        if (result.granted && at >= begun + SECOND && at < begun + 11 * SECOND) used++;
      }
      expect(used).toBeLessThanOrEqual(10 * limit);
      expect(used).toBeGreaterThanOrEqual((limit > 64 ? 9.8 : 9.99) * limit - 1);
    });
  }
});

test('waiting starts are served in the order of their requests, one trip each', () => {
  const store = new Store();
  const rates = [rate(2, SECOND)];
  const delays = [1, 1, 2, 1, 1].map(
    (weight) => store.start([group(rates, [weight])], { within: -1 }).delay / SECOND,
  );
  expect(delays).toEqual([0, 0, 1, 2, 2]);
});

test('a start that is given back leaves no trace', () => {
  const store = new Store();
  const rates = [rate(2, SECOND)];
  store.start([group(rates, [2])]);
  const before = structuredClone(store.limiters);
  const waiting = store.start([group(rates, [2])], { within: -1 });
  expect(waiting.delay).toBe(SECOND);
  expect(store.start([group(rates)]).delay).toBe(2 * SECOND);
  store.correct([group(rates, [-2])], waiting.at);
  expect(store.limiters).toEqual(before);
  expect(store.start([group(rates)]).delay).toBe(SECOND);
});

test('a settled weight above the reserved one counts from now on, a lower one is given back', () => {
  const store = new Store();
  const rates = [rate(100, 60 * SECOND)];
  const { at } = store.start([group(rates, [50])]);
  store.now += SECOND;
  store.correct([group(rates, [-20])], at);
  expect(store.start([group(rates, [1])], { look: true }).remaining).toEqual([70]);
  store.correct([group(rates, [90])], at);
  expect(store.start([group(rates, [80])]).delay).toBe(60 * SECOND);
  expect(store.start([group(rates, [10])]).delay).toBe(59 * SECOND);
});

test.each([
  [3, 3],
  [7, 5],
  [30, 60],
  [1_239, 1_239],
  [300_000, 1_000],
])(
  'a bucket of %i a second gives all of its %i at once, and refills at its rate',
  (limit, burst) => {
    const store = new Store();
    const rates = [group([rate(limit, SECOND, burst)])];
    for (let left = burst - 1; left >= 0; left--) {
      expect(store.start(rates)).toMatchObject({ granted: true, remaining: [left] });
    }
    for (let i = 1; i <= 500; i++) {
      const { granted, delay } = store.start(rates);
      expect(granted).toBe(false);
      store.now += delay;
      expect(store.start(rates).granted).toBe(true);
      expect(store.now - new Store().now).toBe(Math.ceil((i * SECOND) / limit));
    }
  },
);

test('what a bucket gets back late is only what it would still have', () => {
  const store = new Store();
  const rates = [rate(100, SECOND, 100)];
  const { at } = store.start([group(rates, [60])]);
  store.now += SECOND / 2;
  store.start([group(rates, [50])]);
  store.correct([group(rates, [-60])], at);
  // Without the first start it would have been full before the second one.
  expect(store.start([group(rates)], { look: true }).remaining).toEqual([50]);
  store.now += SECOND;
  store.start([group(rates, [100])]);
  store.correct([group(rates, [-60])], at);
  expect(store.start([group(rates)], { look: true }).remaining).toEqual([0]);
});

test('a key is limited by its own rates and by those of all keys, in one step', () => {
  const store = new Store();
  const all = group([rate(3, SECOND)]);
  const key = (name: string) => group([rate(2, 60 * SECOND)], [1], name);
  for (const name of ['x', 'x']) expect(store.start([all, key(name)]).granted).toBe(true);
  // What its own rate refuses uses up nothing of the other.
  expect(store.start([all, key('x')], { within: -1 })).toMatchObject({
    granted: false,
    delay: 60 * SECOND,
    by: 1,
    remaining: [1, 0],
  });
  expect(store.start([all, key('y')]).granted).toBe(true);
  expect(store.start([all, key('y')], { within: -1 })).toMatchObject({ delay: SECOND, by: 0 });
});

test('behind a start that waits for long, others of the batch are refused', () => {
  const { limiters, now } = new Store();
  const starts = new Starts(limiters, now);
  const groups = [group([rate(1, 2 * AHEAD)])];
  const results = [1, 2, 3].map(() => starts.start(request(groups, { within: -1 })));
  starts.end();
  expect(results.map(({ granted, delay }) => [granted, delay])).toEqual([
    [true, 0],
    [true, 2 * AHEAD],
    [false, 4 * AHEAD],
  ]);
});

test('a penalty holds all starts back', () => {
  const store = new Store();
  const starts = new Starts(store.limiters, store.now);
  starts.penalize('a', SECOND);
  starts.end();
  expect(store.start([group([rate(5)])])).toMatchObject({ granted: false, delay: SECOND });
  store.now += SECOND;
  expect(store.start([group([rate(5)])]).granted).toBe(true);
});

describe('changed rates', () => {
  test('a new rate counts as used up; one with another window knows the earlier starts', () => {
    const store = new Store();
    store.start([group([rate(2, SECOND)])]);
    store.now += SECOND / 2;
    expect(store.start([group([rate(2, SECOND, 0, 'other')])]).delay).toBe(SECOND);
    expect(store.start([group([rate(2, 60 * SECOND)])]).granted).toBe(true);
    expect(store.start([group([rate(2, 60 * SECOND)])]).delay).toBe(59.5 * SECOND);
  });

  test('what was forgotten may be in a longer window', () => {
    const store = new Store();
    for (let i = 0; i < 3; i++) {
      store.start([group([rate(2, SECOND)])]);
      store.now += 0.6 * SECOND;
    }
    expect(store.start([group([rate(9, 60 * SECOND)])]).delay).toBe(58.2 * SECOND);
  });

  test('a bucket whose last start is ahead lacks only what it has given', () => {
    const store = new Store();
    const fast = [group([rate(30_000, SECOND, 100)])];
    const slow = [group([rate(7, 3 * SECOND, 5)])];
    // A lease is logged with its end.
    store.start(fast, { count: 10, time: 400_000 });
    for (let i = 0; i < 20; i++) {
      const { delay } = store.start(i % 2 ? fast : slow, { within: -1 });
      expect(delay).toBeLessThan(30 * SECOND);
    }
  });

  test('nothing starts later than a state can say', () => {
    const store = new Store();
    const bucket = [group([rate(1, 1_000 * 366 * 86_400 * SECOND, 1)])];
    for (let i = 0; i < 5; i++) store.start(bucket, { within: -1 });
    expect(store.start(bucket, { within: -1 })).toMatchObject({ granted: false, delay: -1 });
    expect([...store.limiters.values()][0]?.logs[0]?.edge).toBeLessThan(1e16);
  });

  test('a bucket lacks as much as before', () => {
    const store = new Store();
    store.start([group([rate(10, SECOND, 10)], [10])]);
    expect(store.start([group([rate(1, SECOND, 10)])]).delay).toBe(SECOND);
    store.now += 2 * SECOND;
    expect(store.start([group([rate(1, SECOND, 10)], [2])]).granted).toBe(true);
    expect(store.start([group([rate(10, SECOND, 10)])]).delay).toBe(SECOND / 10);
  });

  test('a start that is heavier than the limit is never possible', () => {
    const store = new Store();
    const never = { granted: false, delay: -1 };
    expect(store.start([group([rate(2)], [3])], { within: -1 })).toMatchObject(never);
    expect(store.start([group([rate(9, SECOND, 2)], [3])], { within: -1 })).toMatchObject(never);
  });
});

test('the state of a key is gone when its windows have passed', () => {
  const store = new Store();
  for (const limiter of ['a', 'b', 'c']) {
    store.start([group([rate(2, limiter === 'a' ? 60 * SECOND : SECOND)], [1], limiter)]);
  }
  expect(store.limiters.get('b')?.expires).toBe(store.now + SECOND);
  store.now += SECOND;
  for (let i = 0; i < 3; i++) sweepStarts(store.limiters, store.now, 1);
  expect([...store.limiters.keys()]).toEqual(['a']);
});
