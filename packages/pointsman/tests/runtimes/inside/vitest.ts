/**
 * The `vitest` of a bundle: vitest's own runner, matchers and spies, and its fake clock, assembled without Node. It
 * exports what the tests use; a missing name fails the bundling, not the test run.
 */
import FakeTimers, { type Clock, type FakeMethod } from '@sinonjs/fake-timers';
import {
  ASYMMETRIC_MATCHERS_OBJECT,
  customMatchers,
  GLOBAL_EXPECT,
  getState,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
  setState,
} from '@vitest/expect';
import { getCurrentTest } from '@vitest/runner';
import { fn, restoreAllMocks, spyOn } from '@vitest/spy';
import * as chai from 'chai';

export {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  it,
  onTestFailed,
  onTestFinished,
  suite,
  test,
} from '@vitest/runner';

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

type Expect = typeof import('vitest').expect;

export const expect = Object.assign(
  (value: unknown, message?: string) => {
    const state = getState(expect);
    setState({ assertionCalls: state.assertionCalls + 1 }, expect);
    const assertion = chai.expect(value, message);
    const current = getCurrentTest();
    return current ? (assertion as never as WithTest).withTest(current) : assertion;
  },
  chai.expect,
  (globalThis as Record<symbol, unknown>)[ASYMMETRIC_MATCHERS_OBJECT],
) as never as Expect;

interface WithTest {
  withTest(test: unknown): unknown;
}

expect.assert = chai.assert as never;
expect.extend = (matchers) => (chai.expect as never as Expect & Extend).extend(expect, matchers);
expect.getState = () => getState(expect);
expect.setState = (state) => setState(state, expect);
expect.soft = ((value: unknown, message?: string) =>
  (expect(value, message) as never as WithContext).withContext({ soft: true })) as never;
expect.unreachable = (message) => chai.assert.fail(message ?? 'expected not to be reached');
expect.assertions = (wanted) => {
  setState(
    {
      expectedAssertionsNumber: wanted,
      expectedAssertionsNumberErrorGen: () =>
        new Error(`expected ${wanted} assertions, got ${getState(expect).assertionCalls}`),
    },
    expect,
  );
};
expect.hasAssertions = () => {
  const isExpectingAssertionsError = new Error('expected an assertion, got none');
  setState({ isExpectingAssertions: true, isExpectingAssertionsError }, expect);
};
expect.extend(customMatchers);

interface Extend {
  extend(expect: Expect, matchers: unknown): void;
}

interface WithContext {
  withContext(context: { soft: boolean }): unknown;
}

/** The expectations of `expect.assertions` and `expect.hasAssertions` belong to one test. */
export function resetAssertions(): void {
  setState(
    {
      assertionCalls: 0,
      isExpectingAssertions: false,
      isExpectingAssertionsError: null,
      expectedAssertionsNumber: null,
      expectedAssertionsNumberErrorGen: null,
    },
    expect,
  );
}

export function checkAssertions(): void {
  const state = getState(expect);
  const { expectedAssertionsNumber: wanted, assertionCalls: found } = state;
  if (wanted !== null && wanted !== found) throw state.expectedAssertionsNumberErrorGen?.();
  if (state.isExpectingAssertions && found === 0) throw state.isExpectingAssertionsError;
}

resetAssertions();
Object.defineProperty(globalThis, GLOBAL_EXPECT, { value: expect, configurable: true });

let clock: Clock | undefined;

function running(): Clock {
  if (!clock) throw new Error('call vi.useFakeTimers() first');
  return clock;
}

const clockMethods = {
  useFakeTimers({ toFake, now }: { toFake?: FakeMethod[]; now?: number | Date } = {}) {
    clock?.uninstall();
    // Like vitest, does not fake the two functions that promises depend on.
    const present = Object.keys(FakeTimers.timers).filter(
      (name) => name !== 'nextTick' && name !== 'queueMicrotask',
    ) as FakeMethod[];
    clock = FakeTimers.install({
      toFake: toFake ?? present,
      now: now ?? Date.now(),
      ignoreMissingTimers: true,
    });
    return vi;
  },
  useRealTimers() {
    clock?.uninstall();
    clock = undefined;
    return vi;
  },
  isFakeTimers: () => clock !== undefined,
  getTimerCount: () => running().countTimers(),
  clearAllTimers() {
    running().reset();
    return vi;
  },
  advanceTimersByTime(milliseconds: number) {
    running().tick(milliseconds);
    return vi;
  },
  async advanceTimersByTimeAsync(milliseconds: number) {
    await running().tickAsync(milliseconds);
    return vi;
  },
  runAllTimers() {
    running().runAll();
    return vi;
  },
  async runAllTimersAsync() {
    await running().runAllAsync();
    return vi;
  },
};

export const vi = { ...clockMethods, fn, spyOn, restoreAllMocks };
