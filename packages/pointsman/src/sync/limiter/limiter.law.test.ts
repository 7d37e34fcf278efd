/**
 * Random programs, compared with the reference model after every step and in every millisecond: no request starts too
 * early, too late or out of its turn.
 */
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  Limiter,
  type Limits,
  type Permit,
  QueueFullError,
  type Rate,
  type Weight,
} from '../index.js';
import { ModelLimiter, type ModelOptions, type Wish } from './model/limiter.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

const flush = async () => {
  for (let hop = 0; hop < 12; hop++) await null;
};

const outcomeOf = (error: unknown) => {
  if (error instanceof RangeError) return 'too much';
  return error instanceof QueueFullError ? 'full' : error;
};

type Observed = [id: number, outcome: unknown, at: number];

/** Starts in their order. Rejections are compared apart: they arrive a few microtasks after a start of the same moment. */
const inOrder = (all: Observed[]) => [
  all.filter(([, outcome]) => outcome === 'started'),
  all.filter(([, outcome]) => outcome !== 'started').sort(([one], [other]) => one - other),
];

/** The limiter and the model, which get the same calls. */
class Pair {
  readonly limiter: Limiter;
  readonly model: ModelLimiter;
  readonly running: { wish: Wish; end: () => void }[] = [];
  readonly #observed: Observed[] = [];
  readonly #expected: Observed[] = [];
  readonly #controllers = new Map<number, AbortController>();
  readonly #zero = performance.now();
  #count = 0;

  readonly #options: ModelOptions;

  constructor(options: ModelOptions) {
    this.#options = options;
    this.limiter = new Limiter({ ...options });
    this.model = new ModelLimiter(options, (id, outcome) =>
      this.#expected.push([id, outcome, this.model.now]),
    );
  }

  async request(key: unknown, asked: Weight, priority: number, kind: string): Promise<void> {
    const weight = this.#named(asked);
    const id = this.#count++;
    const wish = { id, key, weight, priority };
    const record = (outcome: unknown) =>
      this.#observed.push([id, outcome, performance.now() - this.#zero]);
    const failed = (error: unknown) => record(outcomeOf(error));
    if (this.model.never(weight)) {
      await expect(this.limiter.acquire({ key, weight, priority })).rejects.toThrow(RangeError);
      return;
    }
    const fn = (permit: Permit) => {
      record('started');
      return new Promise<void>((end) => {
        this.running.push({
          wish,
          end: () => {
            if (kind === 'permit') permit.release();
            end();
          },
        });
      });
    };
    const controller = new AbortController();
    const options = { key, weight, priority, signal: controller.signal };
    if (kind === 'try') {
      const permit = this.limiter.tryAcquire({ key, weight, priority });
      if (permit !== undefined) {
        record('started');
        this.running.push({ wish, end: () => permit.release() });
      }
      expect(this.model.tryStart(wish)).toBe(permit !== undefined);
    } else {
      // A request without options takes the fast path.
      const isPlain = weight === 1 && priority === 0 && key === undefined && id % 2 === 0;
      if (!isPlain) this.#controllers.set(id, controller);
      if (kind === 'acquire') {
        const granted = isPlain ? this.limiter.acquire() : this.limiter.acquire(options);
        granted.then((permit) => {
          record('started');
          this.running.push({ wish, end: () => permit.release() });
        }, failed);
      } else {
        (isPlain ? this.limiter.run(fn) : this.limiter.run(fn, options)).catch(failed);
      }
      this.model.request(wish);
    }
    await this.check();
  }

  /** Removes the names that no rate has. */
  #named(weight: Weight): Weight {
    const rates = [...this.limiter.rate, this.#options.perKey?.rate ?? []].flat();
    if (typeof weight === 'number' || rates.some(({ name = 'rate' }) => name === 'rate'))
      return weight;
    return { concurrency: weight.concurrency as number };
  }

  async giveBack(index: number): Promise<void> {
    const [task] = this.running.splice(index % (this.running.length || 1), 1);
    if (task === undefined) return;
    task.end();
    await flush();
    this.model.giveBack(task.wish);
    await this.check();
  }

  async abort(id: number): Promise<void> {
    const controller = this.#controllers.get(id % (this.#count || 1));
    if (controller === undefined) return;
    controller.abort('aborted');
    this.model.leave(id % (this.#count || 1), 'aborted');
    await this.check();
  }

  async advance(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed++) {
      this.model.now++;
      vi.advanceTimersByTime(1);
      await flush();
      this.model.settle();
      await this.check();
    }
  }

  async check(): Promise<void> {
    await flush();
    const { limiter, model } = this;
    // Each outcome is compared once: those before were equal.
    const [observed, expected] = [this.#observed.splice(0), this.#expected.splice(0)];
    if (observed.length > 0 || expected.length > 0) {
      expect(inOrder(observed)).toEqual(inOrder(expected));
    }
    const { running, waiting, keyCount, idle, stats } = limiter;
    const active = this.running.length;
    // One `expect` for all: there is a check in every millisecond.
    expect([
      running,
      waiting,
      keyCount,
      idle,
      stats.started - stats.finished,
      vi.getTimerCount() > 1,
    ]).toEqual([
      model.shared.out,
      model.waiting,
      model.keyCount,
      active + model.waiting === 0,
      active,
      false,
    ]);
  }

  /** Checks each interval between two starts. Only for rates that did not change. */
  checkLaw(rates: readonly Rate[]): void {
    const { starts } = this.model.shared;
    for (const { limit, per, burst } of rates) {
      starts.forEach((first, index) => {
        let sum = 0;
        for (const { at, weight } of starts.slice(index)) {
          if (burst === undefined && at - first.at >= per) break;
          sum += typeof weight === 'number' ? weight : (weight.rate ?? 1);
          const allowed = burst === undefined ? limit : burst + (limit * (at - first.at)) / per;
          expect(sum).toBeLessThanOrEqual(allowed);
        }
      });
    }
  }
}

const window = fc.record({
  limit: fc.integer({ min: 1, max: 6 }),
  per: fc.integer({ min: 1, max: 40 }),
});
const bucket = fc
  .record({
    limit: fc.integer({ min: 1, max: 4 }),
    each: fc.constantFrom(1, 5, 10),
    burst: fc.integer({ min: 1, max: 6 }),
  })
  .map(({ limit, each, burst }) => ({ limit, per: limit * each, burst }));
const named = (rate: Rate, index: number) =>
  index > 0 ? { ...rate, name: index === 1 ? 'tokens' : 'other' } : rate;
const rates = fc
  .array(fc.oneof(window, bucket), { maxLength: 3 })
  .map((list) => (list.length > 0 ? (list.map(named) as Rate[]) : undefined));
const concurrency = fc.option(fc.integer({ min: 1, max: 5 }), { nil: Number.POSITIVE_INFINITY });
const limits = fc.record({ concurrency, rate: rates });
const weight = fc.oneof(
  { weight: 4, arbitrary: fc.constant(1) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 5 }) },
  {
    weight: 1,
    arbitrary: fc.record({
      concurrency: fc.integer({ min: 1, max: 3 }),
      rate: fc.integer({ min: 0, max: 3 }),
    }),
  },
);
const key = fc.constantFrom(undefined, 'a', 'b', 'c');
const id = fc.nat(40);
const priority = fc.constantFrom(0, 0, 0, 1, -1, 2);
const anyFactor = fc.integer({ min: 1, max: 8 });

type Step = (pair: Pair, options: ModelOptions) => Promise<void>;

const change = (before: Limits, limit: number) => ({
  concurrency: limit,
  rate: (before.rate as Rate[] | undefined)?.map((rate, index) => {
    const next = ((limit + index) % 6) + 1;
    // A bucket keeps its speed, so that whole milliseconds stay whole.
    if (rate.burst === undefined) return { ...rate, limit: next };
    return { ...rate, burst: next };
  }),
});

const kind = fc.constantFrom('run', 'run', 'acquire', 'permit', 'try');
const weighted = (weight: number, arbitrary: fc.Arbitrary<Step>) => ({ weight, arbitrary });
const requests = (keys: fc.Arbitrary<unknown>) =>
  weighted(
    12,
    fc.tuple(keys, weight, priority, kind).map((given) => (pair) => pair.request(...given)),
  );
const releases = weighted(
  6,
  fc.nat(20).map((index) => (pair) => pair.giveBack(index)),
);
const delays = weighted(
  6,
  fc.nat(25).map((ms) => (pair) => pair.advance(ms)),
);
const aborts = weighted(
  2,
  id.map((one) => (pair) => pair.abort(one)),
);
const pauses = weighted(
  1,
  fc.boolean().map((paused) => async ({ limiter, model }) => {
    if (paused) limiter.pause();
    else limiter.resume();
    model.paused = paused;
    model.settle();
  }),
);
const penalties = weighted(
  1,
  fc.tuple(fc.nat(30), key).map(([ms, whose]) => async ({ limiter, model }) => {
    limiter.penalize(ms, whose);
    model.penalize(ms, whose);
  }),
);
const changes = weighted(
  1,
  fc.tuple(anyFactor, fc.boolean()).map(([limit, both]) => async ({ limiter, model }, options) => {
    const { concurrency: max, rate } = change(options, limit);
    const perKey = both && options.perKey ? change(options.perKey, limit) : undefined;
    limiter.setLimits({ concurrency: max, rate, perKey });
    model.setLimits({ concurrency: max, rate, perKey });
  }),
);

const queue = {
  maxWaiting: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.integer({ min: 1, max: 4 })),
  whenFull: fc.constantFrom('reject', 'drop-oldest'),
};
const withAll = fc.record({
  concurrency,
  rate: rates,
  perKey: fc.option(limits, { nil: undefined }),
  ...queue,
});
/** These limiters take the fast paths: nothing but the shared concurrency holds requests back. */
const withConcurrency = fc.record({ concurrency: fc.integer({ min: 1, max: 3 }), ...queue });

test.each([
  [
    'all limits',
    withAll,
    fc.oneof(requests(key), releases, delays, aborts, pauses, penalties, changes),
    300,
  ],
  [
    'a concurrency alone',
    withConcurrency,
    fc.oneof(requests(fc.constant(undefined)), releases, aborts, pauses, changes),
    200,
  ],
] as [string, fc.Arbitrary<ModelOptions>, fc.Arbitrary<Step>, number][])(
  'agrees with the model in every millisecond: %s',
  { timeout: 120_000 },
  async (_, options, step, numRuns) => {
    await fc.assert(
      fc.asyncProperty(
        options,
        fc.array(step, { maxLength: 60, size: 'max' }),
        async (given, steps) => {
          vi.clearAllTimers();
          const pair = new Pair(given);
          for (const each of steps) {
            await each(pair, given);
            await pair.check();
          }
          // At the end all is released, and no key and no timer is left.
          pair.limiter.resume();
          pair.model.paused = false;
          pair.model.settle();
          await pair.check();
          while (!pair.limiter.idle) {
            await pair.giveBack(0);
            await pair.advance(5);
          }
          await pair.advance(100);
          expect(pair.limiter.keyCount).toBe(0);
          expect(vi.getTimerCount()).toBe(0);
          expect(pair.limiter.running).toBe(0);
        },
      ),
      { numRuns },
    );
  },
);

test('no interval contains more than a rate allows', { timeout: 60_000 }, async () => {
  const asks = fc.array(fc.tuple(key, fc.integer({ min: 1, max: 3 }), fc.nat(9), fc.boolean()), {
    maxLength: 60,
    size: 'max',
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(window, bucket), { minLength: 1, maxLength: 2 }),
      asks,
      async (rate, all) => {
        vi.clearAllTimers();
        const pair = new Pair({
          rate: rate.map(named),
          maxWaiting: Number.POSITIVE_INFINITY,
          whenFull: 'reject',
        });
        for (const [whose, heavy, ms, waits] of all) {
          await pair.request(whose, heavy, 0, 'run');
          await pair.giveBack(0);
          if (waits) await pair.advance(ms);
        }
        pair.checkLaw(rate.map(named));
      },
    ),
    { numRuns: 100 },
  );
});

test('keeps its guarantees with timers that count in whole, cached milliseconds', async () => {
  const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.double({ min: 0.5, max: 20, noNaN: true }),
      fraction,
      fc.array(fraction, { minLength: 5, maxLength: 30 }),
      async (limit, per, phase, delays) => {
        let now = 0;
        let count = 0;
        const pass = () => {
          now += 0.01 + (delays[count++ % delays.length] as number) / 5;
        };
        const timers = new Set<{ at: number; callback: () => void }>();
        // Up to 2 ms behind, as libuv's time from a coarse clock of the system.
        const cached = () => Math.floor(Math.floor(now + phase) - phase);
        const clock = {
          now: () => now,
          setTimeout: (callback: () => void, ms: number) => {
            const timer = { at: cached() + ms, callback };
            timers.add(timer);
            return timer;
          },
          clearTimeout: (timer: unknown) => timers.delete(timer as never),
        };
        const limiter = new Limiter({ rate: { limit, per }, clock });
        const starts: number[] = [];
        const all = Promise.all(
          Array.from({ length: 20 }, () => limiter.run(() => void starts.push(now))),
        );
        while (starts.length < 20) {
          pass();
          if (now > 1_000) throw new Error('it is stuck');
          for (const timer of timers) {
            if (timer.at <= cached() && timers.delete(timer)) timer.callback();
          }
          await flush();
        }
        await all;
        starts.slice(limit).forEach((start, n) => {
          expect(start).toBeGreaterThanOrEqual((starts[n] as number) + per);
        });
      },
    ),
    { numRuns: 300 },
  );
});
