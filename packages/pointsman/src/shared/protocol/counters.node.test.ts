/** The rules of counters. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyCounters, type CounterState } from './counters.js';
import type { Operation } from './protocol.js';

/** A store with a clock, in milliseconds. */
class Store {
  readonly counters = new Map<string, CounterState>();
  now = 1_763_900_000_000;

  count(by: number, { window = 1_000, above = 0, growth = 0, counter = 'a' } = {}) {
    const [result] = this.apply({ name: 'count', counter, by, window, above, growth });
    const { total, left } = result as { total: number; left: number };
    return [total, left];
  }

  apply(operation: Operation) {
    return applyCounters(this.counters, [operation], this.now * 1_000 + 999);
  }
}

test('a window begins with its first hit, and ends after its span', () => {
  const store = new Store();
  expect(store.count(0)).toEqual([0, 0]);
  expect(store.count(1)).toEqual([1, 1_000]);
  store.now += 999;
  expect(store.count(5)).toEqual([6, 1]);
  expect(store.count(0)).toEqual([6, 1]);
  store.now += 1;
  expect(store.count(0)).toEqual([0, 0]);
  expect(store.count(2)).toEqual([2, 1_000]);
});

test('a later window of another length does not change one that has begun', () => {
  const store = new Store();
  store.count(1, { window: 500 });
  store.now += 100;
  expect(store.count(1, { window: 9_000 })).toEqual([2, 400]);
});

test('hits that are taken back keep the window, and never begin one', () => {
  const store = new Store();
  expect(store.count(-1)).toEqual([0, 0]);
  store.count(2);
  store.now += 400;
  expect(store.count(-1)).toEqual([1, 600]);
  expect(store.count(-5)).toEqual([0, 600]);
  expect(store.count(1)).toEqual([1, 600]);
  store.now += 600;
  expect(store.count(-1)).toEqual([0, 0]);
  expect(store.count(1)).toEqual([1, 1_000]);
});

test('a deleted counter begins anew', () => {
  const store = new Store();
  store.count(3);
  store.now += 400;
  expect(store.apply({ name: 'forget', counter: 'a' })).toEqual([{ name: 'number', value: 0 }]);
  expect(store.count(0)).toEqual([0, 0]);
  expect(store.count(1)).toEqual([1, 1_000]);
});

test('hits above a total begin the window anew, each of them twice as long with growth 2', () => {
  const store = new Store();
  const doubling = { above: 2, growth: 2 };
  store.count(1, doubling);
  store.now += 300;
  expect(store.count(1, doubling)).toEqual([2, 700]);
  expect(store.count(1, doubling)).toEqual([3, 1_000]);
  store.now += 900;
  expect(store.count(1, doubling)).toEqual([4, 2_000]);
  expect(store.count(1, doubling)).toEqual([5, 4_000]);
  expect(store.count(0, doubling)).toEqual([5, 4_000]);
  expect(store.count(-1, doubling)).toEqual([4, 4_000]);
  expect(store.count(2_000, doubling)).toEqual([2_004, Number.MAX_SAFE_INTEGER]);
  const same = { above: 1, growth: 1, counter: 'b' };
  store.count(5, same);
  store.now += 999;
  expect(store.count(1, same)).toEqual([6, 1_000]);
});

test('after a jump of the clock a window is not longer than its span', () => {
  const store = new Store();
  store.count(1);
  store.now -= 3_600_000;
  expect(store.count(0)).toEqual([1, 1_000]);
  expect(store.count(1)).toEqual([2, 1_000]);
  store.now += 1_000;
  expect(store.count(0)).toEqual([0, 0]);
});

test('ended windows are deleted, however many there are', () => {
  const store = new Store();
  for (let i = 0; i < 5_000; i++) {
    store.count(1, { counter: `${i}`, window: 100 });
    store.now += 1;
    // Each hit looks at two of them, so all are looked at before as many again are added.
    expect(store.counters.size).toBeLessThanOrEqual(202);
  }
});

test('no window admits more than its limit, and the time to its end is exact', () => {
  const anyStep = fc.record({ wait: fc.nat({ max: 400 }), by: fc.constantFrom(1, 1, 1, 2, 0, -1) });
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 60, size: 'max' }), (steps) => {
      const store = new Store();
      let total = 0;
      let end = 0;
      for (const { wait, by } of steps) {
        store.now += wait;
        if (store.now >= end) {
          total = 0;
          if (by > 0) end = store.now + 1_000;
        }
        total = Math.max(0, total + (store.now < end ? by : 0));
        expect(store.count(by)).toEqual([total, Math.max(0, end - store.now)]);
      }
    }),
  );
});
