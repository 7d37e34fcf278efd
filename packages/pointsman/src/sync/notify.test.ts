/** Notifications: which waiter is woken, which notifications are kept, and that none is lost. */
import { nextMacrotask } from '@pointsman/spec';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Notify } from './index.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** The outcomes of promises so far. */
function outcomesOf(promises: Promise<unknown>[]): string[] {
  const outcomes = promises.map(() => 'waits');
  for (const [index, promise] of promises.entries()) {
    promise.then(
      () => {
        outcomes[index] = 'notified';
      },
      (error) => {
        outcomes[index] = String(error?.name ?? error);
      },
    );
  }
  return outcomes;
}

describe('notifyOne', () => {
  test('wakes the waiter that has waited longest', async () => {
    const notify = new Notify();
    const outcomes = outcomesOf([notify.notified(), notify.notified({}), notify.notified()]);
    notify.notifyOne();
    await nextMacrotask();
    expect(outcomes).toEqual(['notified', 'waits', 'waits']);
    notify.notifyOne();
    notify.notifyOne();
    await nextMacrotask();
    expect(outcomes).toEqual(['notified', 'notified', 'notified']);
    expect(notify.waiting).toBe(0);
  });

  test('keeps one notification without waiters', async () => {
    const notify = new Notify();
    notify.notifyOne();
    notify.notifyOne();
    await notify.notified();
    await expect(notify.notified({ timeout: 0 })).rejects.toThrow('timed out after 0 ms');
    notify.notifyOne();
    await notify.notified({ timeout: 0, signal: new AbortController().signal });
    expect(notify.waiting).toBe(0);
  });

  test('is not used up by a refused request', async () => {
    const notify = new Notify();
    notify.notifyOne();
    await expect(notify.notified({ signal: AbortSignal.abort('gone') })).rejects.toBe('gone');
    await expect(notify.notified({ timeout: -1 })).rejects.toThrow(RangeError);
    await notify.notified({ timeout: 0 });
  });

  test('is not used up by a waiter that gave up before', async () => {
    const notify = new Notify();
    const controller = new AbortController();
    const gone = notify.notified({ signal: controller.signal });
    const timed = notify.notified({ timeout: 5 });
    const next = notify.notified();
    controller.abort('gone');
    vi.advanceTimersByTime(5);
    notify.notifyOne();
    await next;
    await expect(gone).rejects.toBe('gone');
    await expect(timed).rejects.toThrow('timed out after 5 ms');
    const other = new AbortController();
    const last = notify.notified({ signal: other.signal });
    other.abort('gone');
    notify.notifyOne();
    await expect(last).rejects.toBe('gone');
    await notify.notified({ timeout: 0 });
  });

  test('stays with its waiter, also if the signal aborts in the same step', async () => {
    const notify = new Notify();
    const controller = new AbortController();
    const waiter = notify.notified({ signal: controller.signal });
    notify.notifyOne();
    controller.abort('gone');
    await waiter;
    await expect(notify.notified({ timeout: 0 })).rejects.toThrow('timed out');
  });

  test('from an earlier listener of the same signal does not wake its waiters', async () => {
    const notify = new Notify();
    const controller = new AbortController();
    const { signal } = controller;
    signal.addEventListener('abort', () => notify.notifyOne());
    const outcomes = outcomesOf([
      notify.notified({ signal }),
      notify.notified({ signal }),
      notify.notified(),
    ]);
    controller.abort('gone');
    await nextMacrotask();
    expect(outcomes).toEqual(['gone', 'gone', 'notified']);
    const second = new AbortController();
    second.signal.addEventListener('abort', () => notify.notifyOne());
    const alone = notify.notified({ signal: second.signal });
    second.abort('gone');
    await expect(alone).rejects.toBe('gone');
    await notify.notified({ timeout: 0 });
  });
});

describe('notifyWaiters', () => {
  test('wakes all current waiters in order, and is not kept', async () => {
    const notify = new Notify();
    const order: number[] = [];
    const waits = [0, 1, 2].map((n) => notify.notified().then(() => order.push(n)));
    notify.notifyWaiters();
    const late = outcomesOf([notify.notified()]);
    await Promise.all(waits);
    expect(order).toEqual([0, 1, 2]);
    expect(late).toEqual(['waits']);
    expect(notify.waiting).toBe(1);
  });

  test('leaves a kept notification', async () => {
    const notify = new Notify();
    notify.notifyOne();
    notify.notifyWaiters();
    await notify.notified({ timeout: 0 });
    notify.notifyWaiters();
    await expect(notify.notified({ timeout: 0 })).rejects.toThrow('timed out');
  });

  test('a caller that checks between the call and the await misses nothing', async () => {
    const door = new Notify();
    let open = false;
    const waitUntilOpen = async () => {
      for (;;) {
        const opened = door.notified();
        if (open) return 'open';
        await opened;
      }
    };
    const waits = [waitUntilOpen(), waitUntilOpen()];
    open = true;
    door.notifyWaiters();
    expect(await Promise.all(waits)).toEqual(['open', 'open']);
  });
});

test('random programs behave as a model', async () => {
  type Step = 'wait' | 'wait plainly' | 'one' | 'all' | number;
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.constantFrom<Step>('wait', 'wait plainly', 'one', 'one', 'all'),
    fc.nat({ max: 9 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
      const notify = new Notify();
      const woken: string[] = [];
      const expected: string[] = [];
      let kept = false;
      let waiting: number[] = [];
      const controllers = new Map<number, AbortController>();
      for (const [id, step] of steps.entries()) {
        if (step === 'wait' || step === 'wait plainly') {
          const controller = new AbortController();
          if (step === 'wait') controllers.set(id, controller);
          void notify.notified(step === 'wait' ? { signal: controller.signal } : undefined).then(
            () => woken.push(`${id} notified`),
            () => {},
          );
          if (kept) expected.push(`${id} notified`);
          else waiting.push(id);
          kept = false;
        } else if (step === 'one') {
          notify.notifyOne();
          const first = waiting.shift();
          if (first === undefined) kept = true;
          else expected.push(`${first} notified`);
        } else if (step === 'all') {
          notify.notifyWaiters();
          expected.push(...waiting.map((each) => `${each} notified`));
          waiting = [];
        } else {
          const id = waiting[step % Math.max(waiting.length, 1)] ?? -1;
          if (controllers.has(id)) {
            controllers.get(id)?.abort();
            waiting = waiting.filter((other) => other !== id);
          }
        }
        expect(notify.waiting).toBe(waiting.length);
      }
      await nextMacrotask();
      expect(woken).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});

test('error messages begin with the name', async () => {
  const notify = new Notify({ name: 'added' });
  await expect(notify.notified({ timeout: 0 })).rejects.toThrow('added: timed out after 0 ms');
});
