/**
 * The wait policy on a clock of its own: calls that take as long as a machine in that condition would
 * take for them, under the policy that is in use when they are made.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Policy, policies, WaitPolicy } from './wait-policy.js';

const [parked, short, long] = policies as readonly [Policy, Policy, Policy];

let now = 1_000;

beforeEach(() => {
  now = 1_000;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** Microseconds that a call takes: the function's, and until each side has noticed. */
type Machine = (policy: Policy, work: number, pause: number) => number;

/** Cores that have nothing else to do: who looks finds at once, who sleeps is woken slowly. */
const idle: Machine = ({ spin, linger }, work, pause) =>
  work + (linger > pause ? 0.3 : 40) + (spin > work ? 0.3 : 40);

/** Another process has the core: who looks in vain keeps the other side from running. */
const busy: Machine = ({ spin }, work) => work + 8 + (spin > 0 ? 60 + spin : 0);

interface Times {
  calls: number;
  inProbes: number;
  total: number;
  under: Map<Policy, number>;
}

/** Makes calls for so many milliseconds, `pause` microseconds apart. */
function run(
  policy: WaitPolicy,
  machine: Machine,
  milliseconds: number,
  work = 5,
  pause = 5,
): Times {
  const times: Times = { calls: 0, inProbes: 0, total: 0, under: new Map() };
  const end = now + milliseconds;
  while (now < end) {
    policy.begin();
    const { current } = policy;
    const took = machine(current, work, pause);
    now += took / 1_000;
    if (current.spin > 0 && took > current.spin) policy.slept();
    now += pause / 1_000;
    times.calls++;
    times.total += took;
    times.under.set(current, (times.under.get(current) ?? 0) + took);
  }
  return times;
}

/** The share of the time of calls that were made under it. */
function share({ under, total }: Times, policy: Policy): number {
  return (under.get(policy) ?? 0) / total;
}

function adaptive() {
  const told: Policy[] = [];
  const policy = new WaitPolicy(true, (next) => told.push(next));
  return { policy, told };
}

test('one that is fixed never looks, and reads no clock', () => {
  const told: Policy[] = [];
  const policy = new WaitPolicy(false, (next) => told.push(next));
  run(policy, idle, 100);
  expect(told).toEqual([parked]);
  expect(performance.now).not.toHaveBeenCalled();
});

test('the other side is told of each change, before it is in use', () => {
  const { policy, told } = adaptive();
  expect(told).toEqual([policy.current]);
  for (let i = 0; i < 50; i++) {
    run(policy, i % 2 ? idle : busy, 20);
    expect(told.at(-1)).toBe(policy.current);
  }
});

describe('ends', () => {
  test('looking for messages on an idle machine', () => {
    const { policy } = adaptive();
    run(policy, idle, 200);
    expect(share(run(policy, idle, 2_000), short)).toBeGreaterThan(0.97);
  });

  test('looking for longer where calls are further apart', () => {
    const { policy } = adaptive();
    run(policy, idle, 1_000, 5, 100);
    expect(share(run(policy, idle, 2_000, 5, 100), long)).toBeGreaterThan(0.97);
  });

  test('parked on a busy machine', () => {
    const { policy } = adaptive();
    run(policy, busy, 200);
    expect(share(run(policy, busy, 2_000), parked)).toBeGreaterThan(0.97);
  });

  test.each([
    ['idle', idle],
    ['busy', busy],
  ] as const)('parked when functions take long, on a machine that is %s', (_, machine) => {
    const { policy } = adaptive();
    run(policy, machine, 2_000, 3_000, 1_000);
    expect(share(run(policy, machine, 20_000, 3_000, 1_000), parked)).toBeGreaterThan(0.97);
  });

  test('parked when calls are far apart: nobody looks for them meanwhile', () => {
    const { policy } = adaptive();
    // The caller alone would gain by it, since its answer comes while it looks.
    run(policy, idle, 3_000, 100, 5_000);
    expect(share(run(policy, idle, 20_000, 100, 5_000), parked)).toBeGreaterThan(0.9);
  });
});

test('changes as conditions change, back and forth', () => {
  const { policy } = adaptive();
  for (let i = 0; i < 5; i++) {
    run(policy, busy, 2_500);
    expect(share(run(policy, busy, 500), parked)).toBeGreaterThan(0.9);
    run(policy, idle, 2_500);
    expect(share(run(policy, idle, 500), short)).toBeGreaterThan(0.9);
  }
});

describe('probes take less than two hundredths of the time', () => {
  test.each([
    ['idle', idle, short],
    ['busy', busy, parked],
  ] as const)('on a machine that is %s', (_, machine, best) => {
    const { policy } = adaptive();
    run(policy, machine, 1_000);
    const times = run(policy, machine, 10_000);
    expect(1 - share(times, best)).toBeLessThan(0.02);
    // It still tries, or it could not change.
    expect(times.under.size).toBeGreaterThan(1);
  });
});

test('one slow call among fast ones changes nothing', () => {
  const { policy } = adaptive();
  run(policy, idle, 500);
  for (let i = 0; i < 20; i++) {
    run(policy, (current, work, pause) => idle(current, work, pause) + 5_000, 1);
    run(policy, idle, 50);
  }
  expect(share(run(policy, idle, 100), short)).toBeGreaterThan(0.9);
});
