/**
 * What is handed out is a native promise that behaves as every native promise does: each
 * continuation has a microtask of its own, in the order of the grants. A thenable, or one microtask
 * that runs many continuations, would be seen here; `context.node.test.ts` shows what it breaks.
 */
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, test } from 'vitest';
import { type AcquireOptions, type Permit, Semaphore } from '../index.js';
import { waits, waitsWith } from './waits.js';

describe('a native promise is returned', () => {
  function expectNative(promise: Promise<unknown>): void {
    expect(Object.getPrototypeOf(promise)).toBe(Promise.prototype);
    // Older Nodes mark every promise by symbols of their own while a context is followed.
    expect(Reflect.ownKeys(promise)).toEqual(Reflect.ownKeys(new Promise(() => {})));
    // The language takes only a native promise as it is.
    expect(Promise.resolve(promise)).toBe(promise);
    promise.catch(() => {});
  }

  test.each(Object.entries(waits))('by %s that waits or is refused', (_, create) => {
    for (const options of [undefined, {}, { timeout: 0 }, { timeout: -1 }]) {
      expectNative(create(1).start(options));
    }
  });

  test.each(waitsWith('free'))('by %s that need not wait', (_, create) => {
    const { start, free } = create(1);
    free();
    expectNative(start());
  });

  test.each(waitsWith('close'))('by %s that is closed', (_, create) => {
    const { start, close } = create(1);
    close('closed');
    expectNative(start());
  });
});

describe('continuations', () => {
  /** Admits one caller at a time; the caller that entered passes its result to `next`. */
  type Gate<Pass> = { enter: () => Promise<Pass>; next: (pass: Pass) => void };

  /** What a semaphore of 1 is compared with: bare promises that are resolved in turn. */
  function bare(): Gate<unknown> {
    const resolves: ((value: unknown) => void)[] = [];
    let started = false;
    return {
      enter() {
        if (started) return new Promise((resolve) => resolves.push(resolve));
        started = true;
        return Promise.resolve();
      },
      next: () => resolves.shift()?.(undefined),
    };
  }

  function ours(options?: AcquireOptions): Gate<Permit> {
    const semaphore = new Semaphore(1);
    return { enter: () => semaphore.acquire(options), next: (permit) => permit.release() };
  }

  const subjects: [string, () => Gate<Permit>][] = [
    ['acquire', () => ours()],
    ['acquire with options', () => ours({ timeout: 60_000 })],
  ];

  async function interleavingOf<Pass>(
    gate: Gate<Pass>,
    release: 'first' | 'last',
  ): Promise<string[]> {
    const log: string[] = [];
    for (const n of [0, 1, 2, 3]) {
      void gate.enter().then((pass) => {
        log.push(`in ${n}`);
        if (release === 'first') gate.next(pass);
        queueMicrotask(() => log.push(`after ${n}`));
        if (release === 'last') gate.next(pass);
        log.push(`out ${n}`);
      });
    }
    log.push('asked');
    queueMicrotask(() => log.push('beside'));
    await nextMacrotask();
    return log;
  }

  test.each(subjects)('of %s never run inside the call that lets them in', async (_, create) => {
    const log = await interleavingOf(create(), 'first');
    expect(log[0]).toBe('asked');
    for (const n of [0, 1, 2, 3]) expect(log.indexOf(`out ${n}`)).toBe(log.indexOf(`in ${n}`) + 1);
  });

  test.each(subjects)('of %s have a microtask each', async (_, create) => {
    const own = [0, 1, 2, 3].flatMap((n) => [`in ${n}`, `out ${n}`, `after ${n}`]);
    const log = await interleavingOf(create(), 'last');
    expect(log.filter((entry) => entry !== 'asked' && entry !== 'beside')).toEqual(own);
  });

  test.each(subjects)('of %s interleave as those of bare promises', async (_, create) => {
    expect(await interleavingOf(create(), 'first')).toEqual(await interleavingOf(bare(), 'first'));
    expect(await interleavingOf(create(), 'last')).toEqual(await interleavingOf(bare(), 'last'));
  });

  test('of several grants in one call run one after the other, others in between', async () => {
    const semaphore = new Semaphore(3);
    const held = await semaphore.acquire({ permits: 3 });
    const log: string[] = [];
    for (const n of [0, 1, 2]) {
      void semaphore.acquire().then(() => {
        log.push(`in ${n}`);
        queueMicrotask(() => log.push(`after ${n}`));
      });
    }
    held.release();
    expect(log).toEqual([]);
    queueMicrotask(() => log.push('beside'));
    await nextMacrotask();
    expect(log).toEqual(['in 0', 'in 1', 'in 2', 'beside', 'after 0', 'after 1', 'after 2']);
  });

  test('of an uncontended acquire run one microtask later', async () => {
    const semaphore = new Semaphore(1);
    const log: string[] = [];
    void semaphore.acquire().then((permit) => {
      log.push('in');
      permit.release();
    });
    queueMicrotask(() => log.push('beside'));
    await nextMacrotask();
    expect(log).toEqual(['in', 'beside']);
  });
});

test('a promise may be awaited many times, and later: the permit is the same', async () => {
  const semaphore = new Semaphore(1);
  const held = await semaphore.acquire();
  const waiter = semaphore.acquire();
  held.release();
  const [one, other] = await Promise.all([waiter, waiter]);
  expect(one).toBe(other);
  expect(await waiter).toBe(one);
  expect(semaphore.available).toBe(0);
  one.release();
  expect(semaphore.available).toBe(1);
});
