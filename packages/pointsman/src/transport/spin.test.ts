/** What a spin reports to its policy. The sources are simulated. */
import { expect, test } from 'vitest';
import { spinFor } from './spin.js';
import { WaitPolicy } from './wait-policy.js';

/** A source that is ready from its `look`-th look on. */
function readyAt(look: number): { readonly ready: boolean } {
  let looks = 0;
  return {
    get ready() {
      return ++looks >= look;
    },
  };
}

const spin = (policy: WaitPolicy, source: { readonly ready: boolean }) =>
  spinFor(source, policy.bound, policy);

test('three spins in a row that fail make the policy pause', () => {
  const policy = new WaitPolicy();
  for (let n = 0; n < 3; n++) {
    expect(policy.bound).toBeGreaterThan(0);
    expect(spin(policy, readyAt(Infinity))).toBe(false);
  }
  expect(policy.bound).toBe(0);
});

test('a spin that succeeds makes up for those that failed before', () => {
  const policy = new WaitPolicy();
  for (let n = 0; n < 100; n++) {
    expect(spin(policy, readyAt(Infinity))).toBe(false);
    expect(spin(policy, readyAt(Infinity))).toBe(false);
    expect(spin(policy, readyAt(2))).toBe(true);
  }
  expect(policy.bound).toBeGreaterThan(0);
});

test('a source that is ready at once proves nothing: it does not make up for them', () => {
  const policy = new WaitPolicy();
  for (let n = 0; n < 3; n++) {
    expect(policy.bound).toBeGreaterThan(0);
    expect(spin(policy, readyAt(Infinity))).toBe(false);
    for (let ready = 0; ready < 100; ready++) expect(spin(policy, readyAt(1))).toBe(true);
  }
  expect(policy.bound).toBe(0);
});

test('without a bound it looks once and reports nothing', () => {
  const policy = new WaitPolicy();
  for (let n = 0; n < 10; n++) {
    expect(spinFor(readyAt(2), 0, policy)).toBe(false);
    expect(spinFor(readyAt(1), 0, policy)).toBe(true);
  }
  expect(policy.bound).toBeGreaterThan(0);
});
