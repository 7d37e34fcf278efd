import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Pace, Paces } from './pace.js';

const paceOf = (times: readonly number[]): Pace => {
  const pace = new Pace();
  for (const time of times) pace.took(time);
  return pace;
};

test('of nothing known, long', () => {
  expect(new Pace()).toMatchObject({ usual: 1, mean: 1 });
});

test('comes to what tasks take, from either side, and stays there', () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-3, max: 1e5, noNaN: true }), (time) => {
      expect(paceOf(Array(100).fill(time)).usual).toBe(time);
    }),
  );
});

test('lies between what tasks have taken, once it has come there', () => {
  const time = fc.double({ min: 0.01, max: 100, noNaN: true });
  fc.assert(
    fc.property(fc.array(time, { minLength: 100, maxLength: 200 }), (times) => {
      const { usual } = paceOf(times);
      expect(usual).toBeGreaterThanOrEqual(Math.min(...times));
      expect(usual).toBeLessThanOrEqual(Math.max(...times));
    }),
  );
});

test('one that was interrupted changes little', () => {
  const pace = paceOf(Array(100).fill(0.001));
  pace.took(1_000);
  expect(pace.usual).toBe(0.002);
  for (let task = 0; task < 3; task++) pace.took(0.001);
  expect(pace.usual).toBeCloseTo(0.001, 9);
});

test('three in four take no longer', () => {
  const order = fc.array(fc.double({ min: 0.001, max: 1_000, noNaN: true }), {
    minLength: 2_000,
    maxLength: 2_000,
    size: 'max',
  });
  fc.assert(
    fc.property(order, (times) => {
      const pace = new Pace();
      let longer = 0;
      for (const time of times) {
        if (time > pace.usual) longer++;
        pace.took(time);
      }
      expect(longer / times.length).toBeLessThan(0.3);
    }),
    { numRuns: 20 },
  );
});

test('the mean counts those that take long', () => {
  const pace = new Pace();
  let means = 0;
  for (let task = 0; task < 1_000; task++) {
    pace.took(task % 10 === 0 ? 10 : 0.001);
    if (task >= 100) means += pace.mean;
  }
  expect(pace.usual).toBeLessThan(0.01);
  expect(means / 900).toBeCloseTo(1, 1);
});

test('each function has its own', () => {
  const paces = new Paces();
  const [one, other] = [{}, {}];
  expect(paces.named('a')).toBe(paces.named('a'));
  expect(paces.named('a')).not.toBe(paces.named('b'));
  expect(paces.inline(one)).toBe(paces.inline(one));
  expect(paces.inline(one)).not.toBe(paces.inline(other));
});
