/**
 * Random programs, compared step by step with the reference model of `spec/`. What it says of grants and
 * their order, permits and waiters must be so, after every single call and in every order in which
 * fast-check's scheduler lets the parts of a program run.
 */
import {
  type AcquireRequest,
  type Guard,
  ModelClock,
  ModelError,
  ModelSemaphore,
  nextMacrotask,
} from '@pointsman/spec';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type AcquireOptions, KeyedSemaphore, type Permit, Semaphore } from '../index.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

interface Wish {
  readonly permits: number;
  readonly priority: number;
  readonly timeout: number | undefined;
  /** Those who name the same one share a signal. */
  readonly group?: number | undefined;
}

const nothingSpecial: Wish = { permits: 1, priority: 0, timeout: undefined };

type Outcome = 'granted' | 'closed' | 'aborted' | 'timeout' | 'too many';
type Told = [id: number, outcome: Outcome][];

/** A semaphore and the reference model, on which every call is made together. */
class Pair {
  readonly semaphore: Semaphore;
  readonly permits = new Map<number, Permit>();
  readonly #clock = new ModelClock();
  readonly #model: ModelSemaphore;
  readonly #modelPermits = new Map<number, Guard>();
  /** What each of them told to whom, in this order. */
  readonly #told: Told = [];
  readonly #modelTold: Told = [];
  readonly #controllers = new Map<AbortSignal, AbortController>();
  readonly #groups = new Map<number, AbortController>();
  #count = 0;

  constructor(limit: number) {
    this.semaphore = new Semaphore(limit);
    this.#model = new ModelSemaphore(limit, this.#clock);
  }

  /** The signals of the waiters. */
  get signals(): readonly AbortSignal[] {
    return this.#model.observe().queue ?? [];
  }

  /** The id of the permit, when it has been granted; `undefined`, when it has been refused. */
  ask(wish: Wish): Promise<number | undefined> {
    const id = this.#count++;
    const options: AcquireOptions[] = [];
    // Who wishes for nothing special passes no options, and cannot be aborted.
    if (wish !== nothingSpecial || id % 3 === 0) {
      const { group, ...others } = wish;
      const shared = group === undefined ? undefined : this.#groups.get(group);
      const controller = shared ?? new AbortController();
      if (group !== undefined) this.#groups.set(group, controller);
      this.#controllers.set(controller.signal, controller);
      options.push({ ...others, signal: controller.signal });
    }
    this.#model.acquire((options[0] ?? {}) as AcquireRequest).then(
      (guard) => {
        this.#modelTold.push([id, 'granted']);
        this.#modelPermits.set(id, guard);
      },
      (error) => this.#modelTold.push([id, outcomeOf(error)]),
    );
    const granted = this.semaphore.acquire(...options).then(
      (permit) => {
        this.#told.push([id, 'granted']);
        this.permits.set(id, permit);
        return id;
      },
      (error) => {
        this.#told.push([id, outcomeOf(error)]);
        return undefined;
      },
    );
    this.#check();
    return granted;
  }

  try({ permits, priority }: Wish): number | undefined {
    const [permit, guard] = [this.semaphore, this.#model].map((each) => {
      try {
        return each.tryAcquire({ permits, priority });
      } catch (error) {
        return outcomeOf(error);
      }
    }) as [Permit | Outcome | undefined, Guard | Outcome | undefined];
    this.#check();
    if (!(permit instanceof Object && guard instanceof Object)) {
      expect(permit).toBe(guard);
      return undefined;
    }
    const id = this.#count++;
    this.permits.set(id, permit);
    this.#modelPermits.set(id, guard);
    return id;
  }

  release(id: number): void {
    const permit = this.permits.get(id);
    if (permit === undefined) return;
    this.permits.delete(id);
    this.#modelPermits.get(id)?.release();
    permit.release();
    permit.release();
    this.#check();
  }

  abort(signal: AbortSignal | undefined): void {
    const controller = signal && this.#controllers.get(signal);
    if (controller === undefined) return;
    for (const [group, other] of this.#groups) if (other === controller) this.#groups.delete(group);
    controller.abort('aborted');
    this.#check();
  }

  setLimit(limit: number): void {
    this.#model.setLimit(limit);
    this.semaphore.limit = limit;
    this.#check();
  }

  advance(milliseconds: number): void {
    this.#clock.advance(milliseconds);
    vi.advanceTimersByTime(milliseconds);
    this.#check();
  }

  close(): void {
    this.#model.close('closed');
    this.semaphore.close('closed');
    this.#check();
  }

  /** Releases each permit that is granted, until the semaphore is idle; then compares all outcomes. */
  async finish(): Promise<void> {
    for (let rounds = 0; !this.semaphore.idle; rounds++) {
      expect(rounds).toBeLessThan(1_000);
      await nextMacrotask();
      for (const id of this.permits.keys()) this.release(id);
    }
    await this.semaphore.drain();
    await nextMacrotask();
    expect(this.semaphore.available).toBe(this.semaphore.limit);
    expect([vi.getTimerCount(), this.#clock.size]).toEqual([0, 0]);
    // A rejection settles some microtasks later than a grant, so only grants have an order.
    const grants = (told: Told) => told.filter(([, outcome]) => outcome === 'granted');
    const byId = (told: Told) => [...told].sort(([one], [other]) => one - other);
    expect(grants(this.#told)).toEqual(grants(this.#modelTold));
    expect(byId(this.#told)).toEqual(byId(this.#modelTold));
  }

  #check(): void {
    const { available, waiting, limit, closed } = this.semaphore;
    expect(this.#model.observe()).toMatchObject({ available, waiting, limit, closed });
  }
}

function outcomeOf(error: unknown): Outcome {
  if (error === 'closed' || error === 'aborted') return error;
  if ((error as Error).name === 'TimeoutError') return 'timeout';
  if (error instanceof RangeError) return 'too many';
  if (error instanceof ModelError) return error.kind === 'timeout' ? 'timeout' : 'too many';
  throw error;
}

const wish: fc.Arbitrary<Wish> = fc.record({
  permits: fc.constantFrom(1, 1, 1, 1, 2, 3, 5),
  priority: fc.constantFrom(0, 0, 0, 0, 1, -1, 0.5, -2),
  timeout: fc.constantFrom(undefined, undefined, undefined, 0, 10, 20),
  group: fc.constantFrom(undefined, undefined, 0, 1),
});

const anyWish = fc.oneof(fc.constant(nothingSpecial), wish);
const limits = fc.integer({ min: 1, max: 5 });
const number = fc.nat({ max: 99 });

describe('a program', () => {
  type Step = (pair: Pair) => unknown;
  const step = (name: string, act: Step) => Object.assign(act, { [fc.toStringMethod]: () => name });

  /** One of those who are there: of the permits that are known, of the waiters, of the latest. */
  const pick = <Item>(items: Iterable<Item>, n: number): Item | undefined => {
    const all = [...items];
    return all[n % all.length];
  };

  const anyStep: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 30,
      arbitrary: anyWish.map((wish) =>
        step(`acquire(${fc.stringify(wish)})`, (pair) => void pair.ask(wish)),
      ),
    },
    {
      weight: 8,
      arbitrary: anyWish.map((wish) =>
        step(`try(${fc.stringify(wish)})`, (pair) => pair.try(wish)),
      ),
    },
    {
      weight: 25,
      arbitrary: number.map((n) =>
        step(`release(${n})`, (pair) => pair.release(pick(pair.permits.keys(), n) ?? -1)),
      ),
    },
    {
      weight: 10,
      arbitrary: number.map((n) =>
        step(`abort(${n})`, (pair) => pair.abort(pick(pair.signals, n))),
      ),
    },
    {
      weight: 6,
      arbitrary: limits.map((limit) => step(`limit = ${limit}`, (pair) => pair.setLimit(limit))),
    },
    {
      weight: 6,
      arbitrary: fc
        .constantFrom(5, 10)
        .map((time) => step(`+${time} ms`, (pair) => pair.advance(time))),
    },
    { weight: 1, arbitrary: fc.constant(step('close()', (pair) => pair.close())) },
    // So that grants are known at once, after a part of the microtasks, or later.
    { weight: 25, arbitrary: fc.constant(step('a microtask', () => Promise.resolve())) },
    { weight: 8, arbitrary: fc.constant(step('all microtasks', () => nextMacrotask())) },
  );

  test('of calls in a row, with any number of microtasks in between', async () => {
    const program = fc.array(anyStep, { minLength: 5, maxLength: 60, size: 'max' });
    await fc.assert(
      fc.asyncProperty(limits, program, async (limit, steps) => {
        vi.clearAllTimers();
        const pair = new Pair(limit);
        for (const step of steps) {
          const pause = step(pair);
          if (pause instanceof Promise) await pause;
        }
        await pair.finish();
      }),
      { numRuns: 1_000 },
    );
  });

  /** What one of the actors does with the permit that it was granted. */
  interface Actor {
    readonly wish: Wish;
    readonly turns: number;
    readonly abortAfter: number | undefined;
    readonly again: Wish | undefined;
  }

  const actor: fc.Arbitrary<Actor> = fc.record({
    wish: anyWish,
    turns: fc.nat({ max: 2 }),
    abortAfter: fc.option(fc.nat({ max: 2 }), { nil: undefined, freq: 3 }),
    again: fc.option(anyWish, { nil: undefined, freq: 3 }),
  });

  const disturbance: fc.Arbitrary<Step> = fc.oneof(
    limits.map((limit) => step(`limit = ${limit}`, (pair) => pair.setLimit(limit))),
    fc.constantFrom(5, 10).map((time) => step(`+${time} ms`, (pair) => pair.advance(time))),
    anyWish.map((wish) => step('try', (pair) => pair.release(pair.try(wish) ?? -1))),
    fc.constant(step('drain()', (pair) => void pair.semaphore.drain())),
  );

  test('of actors, whose steps the scheduler interleaves', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        limits,
        fc.array(actor, { minLength: 2, maxLength: 8, size: 'max' }),
        fc.array(disturbance, { maxLength: 4, size: 'max' }),
        fc.boolean(),
        async (scheduler, limit, actors, disturbances, closes) => {
          vi.clearAllTimers();
          const pair = new Pair(limit);
          const turn = (label: string) => scheduler.schedule(Promise.resolve(), label);

          const act = async ({ wish, turns, abortAfter, again }: Actor, name: string) => {
            await turn(`${name} asks`);
            const asked = pair.ask(wish);
            if (abortAfter !== undefined) void abortLater(pair.signals.at(-1), abortAfter, name);
            const id = await asked;
            if (id === undefined) return;
            for (let n = 0; n < turns; n++) await turn(`${name} is inside`);
            // A second request while it holds a permit: an earlier waiter goes first.
            const more = again && pair.ask(again);
            pair.release(id);
            const second = await more;
            if (second !== undefined) pair.release(second);
          };
          const abortLater = async (
            signal: AbortSignal | undefined,
            after: number,
            name: string,
          ) => {
            for (let n = 0; n <= after; n++) await turn(`${name} thinks again`);
            pair.abort(signal);
          };

          const all = actors.map((actor, index) => act(actor, `actor ${index}`));
          for (const [index, disturb] of disturbances.entries()) {
            void turn(`disturbance ${index}`).then(() => disturb(pair));
          }
          if (closes) void turn('close').then(() => pair.close());
          await scheduler.waitIdle();
          await pair.finish();
          await Promise.all(all);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  /** A function to be run under one of three keys: how many turns it takes and how it ends. */
  interface Job {
    readonly key: number;
    readonly permits: number;
    readonly turns: number;
    readonly end: 'return' | 'throw' | 'resolve' | 'reject' | 'thenable';
    readonly special: boolean;
  }

  const job: fc.Arbitrary<Job> = fc.record({
    key: fc.nat({ max: 2 }),
    permits: fc.integer({ min: 1, max: 2 }),
    turns: fc.nat({ max: 2 }),
    end: fc.constantFrom('return', 'throw', 'resolve', 'reject', 'thenable'),
    special: fc.boolean(),
  });

  test('of functions that are run under a key: each in its turn, never too many, all to the end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(job, { minLength: 2, maxLength: 10, size: 'max' }),
        async (scheduler, jobs) => {
          const keyed = new KeyedSemaphore<number>(2);
          const inside = [0, 0, 0];
          const asked: number[][] = [[], [], []];
          const started: number[][] = [[], [], []];

          const enter = ({ key, permits }: Job, index: number) => {
            inside[key] = (inside[key] ?? 0) + permits;
            started[key]?.push(index);
            expect(inside[key]).toBeLessThanOrEqual(2);
            expect([...keyed.keys()]).toContain(key);
          };
          const leave = ({ key, permits }: Job) => {
            inside[key] = (inside[key] ?? 0) - permits;
          };
          const work = async (job: Job, index: number) => {
            for (let n = 0; n < job.turns; n++)
              await scheduler.schedule(Promise.resolve(), `job ${index}`);
            leave(job);
            if (job.end === 'reject') throw index;
            return index;
          };
          const fnOf = (job: Job, index: number) => (): number | PromiseLike<number> => {
            enter(job, index);
            if (job.end === 'return' || job.end === 'throw') leave(job);
            if (job.end === 'return') return index;
            if (job.end === 'throw') throw index;
            const promise = work(job, index);
            // biome-ignore lint/suspicious/noThenProperty: a foreign promise
            return job.end === 'thenable' ? { then: promise.then.bind(promise) } : promise;
          };
          const outcomes = await scheduler.waitFor(
            Promise.allSettled(
              jobs.map(async (job, index) => {
                await scheduler.schedule(Promise.resolve(), `ask ${index}`);
                asked[job.key]?.push(index);
                const special = job.special || job.permits > 1;
                const options = special ? [{ permits: job.permits, timeout: 1_000 }] : [];
                return keyed.run(job.key, fnOf(job, index), ...options);
              }),
            ),
          );
          expect(started).toEqual(asked);
          expect(inside).toEqual([0, 0, 0]);
          for (const [index, { end }] of jobs.entries()) {
            const rejected = end === 'throw' || end === 'reject';
            expect(outcomes[index]).toEqual(
              rejected
                ? { status: 'rejected', reason: index }
                : { status: 'fulfilled', value: index },
            );
          }
          expect(keyed.keyCount).toBe(0);
          expect(vi.getTimerCount()).toBe(0);
        },
      ),
      { numRuns: 500 },
    );
  });
});
