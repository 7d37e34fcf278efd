/** What only Node can show of select: the async context, and that nothing is left. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { nextMacrotask } from '@pointsman/spec';
import FakeTimers from '@sinonjs/fake-timers';
import { expect, onTestFinished, test } from 'vitest';
import { Channel } from '../channel/channel.js';
import { Semaphore } from '../semaphore/semaphore.js';
import { select } from './select.js';

test('the context is that of the caller of select, in its cases and after it', async () => {
  const storage = new AsyncLocalStorage<number>();
  const semaphore = new Semaphore(0);
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  const seen: unknown[] = [];
  const all = [0, 1, 2, 3].map((n) =>
    storage.run(n, async () => {
      await select(
        {
          promise: n % 2 === 0 && promise,
          first: async (only) => {
            await nextMacrotask();
            seen.push(['case', n, storage.getStore()]);
            return semaphore.acquire(only);
          },
          second: (only) => {
            seen.push(['case', n, storage.getStore()]);
            return semaphore.acquire(only);
          },
        },
        { biased: true },
      );
      seen.push(['after', n, storage.getStore()]);
    }),
  );
  await nextMacrotask();
  await nextMacrotask();
  storage.run(-1, () => {
    resolve();
    semaphore.limit = 2;
  });
  await Promise.all(all);
  expect(seen).toHaveLength(12);
  for (const [, n, context] of seen as [string, number, number][]) expect(context).toBe(n);
});

test('after many selects nothing is left on what they waited for', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const end = new Promise<never>(() => {});
  const { signal } = new AbortController();
  const [ready, busy] = [new Semaphore(1), new Semaphore(0)];
  const round = async () => {
    const first = await select(
      {
        busy: (only) => busy.acquire(only),
        end,
        ready: (only) => ready.acquire(only),
        late: 60_000,
      },
      { signal, timeout: 60_000, biased: true },
    );
    if (first.key === 'ready') first.value.release();
  };
  const measure = async () => {
    for (let n = 0; n < 20_000; n++) await round();
    await nextMacrotask();
    collect();
    return process.memoryUsage().heapUsed;
  };
  await measure();
  const before = await measure();
  expect((await measure()) - before).toBeLessThan(2_000_000);
  expect([busy.waiting, ready.idle, getEventListeners(signal, 'abort').length]).toEqual([
    0,
    true,
    0,
  ]);
});

/** As sinon has them by default: they replace `queueMicrotask` too. */
function useFakeTimers(): void {
  const clock = FakeTimers.install();
  onTestFinished(() => clock.uninstall());
}

test('a case after one that is pending is asked, also under fake timers', async () => {
  useFakeTimers();
  const never = new Promise<never>(() => {});
  const selected = await select({ never, call: () => never, second: Promise.resolve(2) });
  expect(selected).toEqual({ key: 'second', value: 2 });
});

test('a signal that has aborted ends a wait, also under fake timers', async () => {
  useFakeTimers();
  const controller = new AbortController();
  const source = {
    async *[Symbol.asyncIterator]() {
      controller.abort('enough');
      await new Promise(() => {});
      yield 1;
    },
  };
  const sent = new Channel<number>(1).sendAll(source, { signal: controller.signal });
  await expect(sent).rejects.toBe('enough');
});
