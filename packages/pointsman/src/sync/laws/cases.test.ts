/** Every operation that waits, as a case of a `select`: one case takes effect, the others leave no trace. */
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, test } from 'vitest';
import { Notify, select } from '../index.js';
import { waits, waitsWith } from './waits.js';

describe.each(Object.entries(waits))('%s', (_, create) => {
  test('wins when it is served, and the other case leaves', async () => {
    const { start, serve } = create(1);
    const other = new Notify();
    const won = select({ wait: start, other: (only) => other.notified(only) });
    await nextMacrotask();
    serve();
    expect((await won).key).toBe('wait');
    expect(other.waiting).toBe(0);
  });

  test('leaves in the step in which another case wins, and the next wait is served', async () => {
    const { start, serve, waiting } = create(1);
    const other = new Notify();
    const won = select({ wait: start, other: (only) => other.notified(only) });
    await nextMacrotask();
    expect([waiting?.() ?? 1, other.waiting]).toEqual([1, 1]);
    other.notifyOne();
    expect([waiting?.() ?? 0, other.waiting]).toEqual([0, 0]);
    expect((await won).key).toBe('other');
    await nextMacrotask();
    const next = start();
    await nextMacrotask();
    serve();
    await next;
  });
});

test.each(waitsWith('free'))(
  '%s, that need not wait, makes the others leave',
  async (name, create) => {
    const { start, free } = create(1);
    free();
    const other = new Notify();
    const won = select({ other: (only) => other.notified(only), wait: start }, { biased: true });
    // The predicate of `waitFor` may be asynchronous.
    if (name !== 'Condition.waitFor') expect(other.waiting).toBe(0);
    expect((await won).key).toBe('wait');
    expect(other.waiting).toBe(0);
  },
);
