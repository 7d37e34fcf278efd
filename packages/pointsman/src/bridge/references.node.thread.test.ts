/** An object passed by reference stays alive exactly as long as the other side may use it. */
import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { nextMacrotask } from '@pointsman/spec';
import { expect, test } from 'vitest';
import { type Bridged, bridged } from '../../tests/bridge/threads.js';

setFlagsFromString('--expose-gc');
const collectHere: () => void = runInNewContext('gc');

/** Collects garbage on both sides until the condition holds. */
async function collectUntil(
  { run }: Pick<Bridged<object, unknown>, 'run'>,
  condition: () => unknown,
): Promise<void> {
  while (!condition()) {
    await run(async ({ scope }) => {
      scope.collectGarbage();
      await new Promise((resolve) => setTimeout(resolve, 1));
    });
    collectHere();
    await nextMacrotask();
  }
}

async function collectTimes(all: Pick<Bridged<object, unknown>, 'run'>, times: number) {
  let left = times;
  await collectUntil(all, () => left-- === 0);
}

test('a function of the host is released when the worker has no proxy of it', async () => {
  const made: WeakRef<() => string>[] = [];
  const all = await bridged({
    make() {
      const f = () => 'still here';
      made.push(new WeakRef(f));
      return f;
    },
    again: () => made[0]?.deref(),
  });
  await all.run(({ host, kept }) => {
    kept.f = host.make();
    kept.again = host.again();
  });
  await collectTimes(all, 5);
  expect(made[0]?.deref()).toBeDefined();
  expect(await all.run(({ kept }) => (kept.f as () => unknown)())).toBe('still here');
  await all.run(({ kept }) => {
    delete kept.f;
  });
  await collectTimes(all, 5);
  expect(made[0]?.deref()).toBeDefined();
  expect(await all.run(({ kept }) => (kept.again as () => unknown)())).toBe('still here');
  await all.run(({ kept }) => {
    delete kept.again;
  });
  await collectUntil(all, () => made[0]?.deref() === undefined);
});

test('a callback of the worker is released when the host has no proxy of it', async () => {
  let kept: ((n: number) => Promise<number>) | undefined;
  const all = await bridged({
    keep(f: (n: number) => Promise<number>) {
      kept = f;
    },
    use: (f: (n: number) => Promise<number>) => f(1),
  });
  await all.run(({ host, kept }) => {
    const f = (n: number) => n + 1;
    kept.ref = new WeakRef(f);
    host.keep(f);
    host.use(f);
  });
  await collectTimes(all, 5);
  expect(await kept?.(4)).toBe(5);
  kept = undefined;
  const gone = async () =>
    all.run(({ kept }) => (kept.ref as WeakRef<object>).deref() === undefined);
  for (let isGone = false; !isGone; isGone = await gone()) await collectTimes(all, 1);
});

test('a callback of a rejected call is released at once', async () => {
  const all = await bridged({ take: (...args: unknown[]) => args.length });
  await all.run(async ({ host, kept, caught }) => {
    const f = () => 1;
    kept.ref = new WeakRef(f);
    const { name } = await caught(() => host.take(f, { symbol: Symbol('s') }));
    if (name !== 'DataCloneError') throw new Error(name);
  });
  const gone = async () =>
    all.run(({ kept }) => (kept.ref as WeakRef<object>).deref() === undefined);
  for (let isGone = false; !isGone; isGone = await gone()) await collectTimes(all, 1);
});

test('many short-lived functions are released', async () => {
  const made: WeakRef<() => number>[] = [];
  const all = await bridged({
    make(n: number) {
      const f = () => n;
      made.push(new WeakRef(f));
      return f;
    },
  });
  const sum = await all.run(async ({ host }) => {
    let sum = 0;
    for (let n = 0; n < 300; n++) sum += await host.make(n)();
    return sum;
  });
  expect(sum).toBe((299 * 300) / 2);
  await collectUntil(all, () => made.every((ref) => ref.deref() === undefined));
});

test('the listener on a signal is removed', async () => {
  const { signal } = new AbortController();
  const all = await bridged({ mine: () => signal });
  await all.run(({ host, kept }) => {
    kept.signal = host.mine();
  });
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  await collectTimes(all, 5);
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  await all.run(({ kept }) => {
    delete kept.signal;
  });
  await collectUntil(all, () => getEventListeners(signal, 'abort').length === 0);
});

test('an abandoned iterator is ended', async () => {
  let ended = 0;
  const all = await bridged({
    async *items() {
      try {
        yield 1;
        yield 2;
      } finally {
        ended++;
      }
    },
  });
  await all.run(async ({ host }) => {
    await (host.items() as AsyncIterator<number>).next();
  });
  await collectUntil(all, () => ended === 1);
});
