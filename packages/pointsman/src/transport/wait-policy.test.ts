/** How long to spin, from the latest waits. All times are simulated. */
import { expect, test } from 'vitest';
import { WaitPolicy } from './wait-policy.js';

/** Simulates waits for an event that arrives after `milliseconds`. Returns the time spent spinning. */
function wait(policy: WaitPolicy, waits: number, milliseconds: number, wakeUp: number): number {
  let spun = 0;
  for (let n = 0; n < waits; n++) {
    const { bound } = policy;
    if (bound >= milliseconds) {
      spun += milliseconds;
      policy.hit();
      continue;
    }
    spun += bound;
    if (bound > 0) policy.missed();
    policy.woke(wakeUp);
  }
  return spun;
}

function afterWakeUpsOf(milliseconds: number): WaitPolicy {
  const policy = new WaitPolicy();
  for (let n = 0; n < 50; n++) policy.woke(milliseconds);
  return policy;
}

test('it spins for as long as a wake-up has lately cost', () => {
  const policy = afterWakeUpsOf(0.1);
  expect(policy.bound).toBeGreaterThan(0.08);
  expect(policy.bound).toBeLessThan(0.125);
  expect(policy.bound).toBe(policy.cost);
  for (let n = 0; n < 50; n++) policy.woke(0.2);
  expect(policy.bound).toBeGreaterThan(0.16);
});

test('a single wake-up that took long changes little, and none makes it spin for longer than 0.25 ms', () => {
  const policy = afterWakeUpsOf(0.1);
  const { bound } = policy;
  policy.woke(80);
  expect(policy.bound).toBeLessThanOrEqual(1.2 * bound);
  expect(afterWakeUpsOf(80).bound).toBe(0.25);
});

test('cheap wake-ups leave it a spin that is short, and not none', () => {
  const { bound } = afterWakeUpsOf(0.001);
  expect(bound).toBeGreaterThan(0);
  expect(bound).toBeLessThanOrEqual(0.03);
});

test('a sleep of which nothing is known leaves the bound as it is', () => {
  const policy = afterWakeUpsOf(0.1);
  const { bound } = policy;
  policy.woke(undefined);
  expect(policy.bound).toBe(bound);
});

test('what comes within the bound is waited for by spinning, always', () => {
  const policy = afterWakeUpsOf(0.1);
  expect(wait(policy, 1_000, 0.001, 0.1)).toBeCloseTo(1);
});

test('three misses in a row make it sleep at once, for more waits each time that the next try fails', () => {
  const policy = afterWakeUpsOf(0.1);
  for (let n = 0; n < 3; n++) {
    expect(policy.bound).toBeGreaterThan(0);
    policy.missed();
    policy.woke(0.1);
  }
  const pauses: number[] = [];
  for (let n = 0; n < 7; n++) {
    let pause = 1;
    for (; policy.bound === 0; pause++) policy.woke(0.1);
    pauses.push(pause);
    policy.missed();
    policy.woke(0.1);
  }
  expect(pauses).toEqual([16, 32, 64, 128, 256, 256, 256]);
});

test('where no event ever arrives in time it spins for a hundredth of the waits', () => {
  const policy = afterWakeUpsOf(0.1);
  const spun = wait(policy, 10_000, 5, 0.1);
  expect(spun / policy.cost).toBeLessThan(100);
});

test('misses between hits do not make it pause, and hits shorten the pauses to come', () => {
  const policy = afterWakeUpsOf(0.1);
  for (let n = 0; n < 100; n++) {
    policy.missed();
    policy.missed();
    policy.hit();
    expect(policy.bound).toBeGreaterThan(0);
  }
});

test('without spinning it never does', () => {
  const policy = new WaitPolicy(false);
  policy.woke(0.1);
  expect(policy.bound).toBe(0);
});
