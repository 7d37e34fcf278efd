/** Latch: counting down, and waits before and after it opens. */
import { nextMacrotask } from '@pointsman/spec';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Latch } from './index.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

test('resolves all waits at zero in their order, and later ones at once', async () => {
  const latch = new Latch(3);
  const order: number[] = [];
  const waits = [0, 1].map((n) =>
    latch.wait(n ? { timeout: 1_000 } : {}).then(() => order.push(n)),
  );
  latch.countDown();
  latch.countDown();
  await nextMacrotask();
  expect([order, latch.count, latch.waiting]).toEqual([[], 1, 2]);
  latch.countDown();
  await Promise.all(waits);
  expect([order, latch.count, latch.waiting]).toEqual([[0, 1], 0, 0]);
  await latch.wait();
  await latch.wait({ timeout: 0 });
  expect(vi.getTimerCount()).toBe(0);
});

test('counts down by several, not beyond zero', async () => {
  const latch = new Latch(5);
  latch.countDown(0);
  expect(latch.count).toBe(5);
  latch.countDown(4);
  const wait = latch.wait();
  latch.countDown(7);
  expect(latch.count).toBe(0);
  latch.countDown();
  expect(latch.count).toBe(0);
  await wait;
});

test('a latch of zero is open', async () => {
  await new Latch(0).wait({ timeout: 0 });
});

test('an abort after it opened has no effect; before, the waiter leaves', async () => {
  const latch = new Latch(1, { name: 'ready' });
  const controller = new AbortController();
  const other = new AbortController();
  const gone = latch.wait({ signal: controller.signal });
  const stays = latch.wait({ signal: other.signal });
  await expect(latch.wait({ timeout: 0 })).rejects.toThrow('ready: timed out after 0 ms');
  controller.abort('gone');
  expect(latch.waiting).toBe(1);
  latch.countDown();
  other.abort('late');
  await stays;
  await expect(gone).rejects.toBe('gone');
  await expect(latch.wait({ signal: other.signal })).rejects.toBe('late');
});

test('opened by an earlier listener of a signal, it does not resolve the waits of that signal', async () => {
  const latch = new Latch(1);
  const controller = new AbortController();
  controller.signal.addEventListener('abort', () => latch.countDown());
  const gone = latch.wait({ signal: controller.signal });
  const stays = latch.wait();
  controller.abort('gone');
  await expect(gone).rejects.toBe('gone');
  await stays;
});

test('countDown refuses a bad number, with no effect', () => {
  const latch = new Latch(2);
  for (const bad of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(() => latch.countDown(bad)).toThrow('n must be an integer >= 0');
  }
  expect(() => latch.countDown(null as never)).toThrow(TypeError);
  expect(latch.count).toBe(2);
});
