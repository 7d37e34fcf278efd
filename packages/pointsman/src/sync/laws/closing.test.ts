/** `close`, `cancel` and `drain` of every primitive that grants permits. */
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, test } from 'vitest';
import { ClosedError } from '../index.js';
import { holders } from './holders.js';

describe.each(Object.entries(holders))('%s', (_, create) => {
  test.each([new Error('why'), 'text', null, 0, '', false, { why: 'because' }])(
    'close rejects waiting and later requests with its reason: %j',
    async (reason) => {
      const { object, request, run, tries } = create();
      const held = await request();
      const waiters: Promise<unknown>[] = [request(), request({ timeout: 60_000 }), run(() => {})];
      expect(object.closed).toBe(false);
      object.close(reason);
      object.close('second');
      expect([object.closed, object.waiting, held.released]).toEqual([true, 0, false]);
      for (const state of ['held', 'free']) {
        waiters.push(
          request(),
          request({}),
          run(() => state),
        );
        expect(object.waiting).toBe(0);
        let thrown: unknown = 'nothing';
        try {
          tries();
        } catch (error) {
          thrown = error;
        }
        expect(thrown).toBe(reason);
        held.release();
      }
      for (const waiter of waiters) await expect(waiter).rejects.toBe(reason);
      await object.drain({ timeout: 0 });
    },
  );

  test.each([[[]], [[undefined]]])('close without a reason: a ClosedError: %j', async (none) => {
    const { object, request, tries } = create('jobs');
    const held = await request();
    const waiter = request();
    object.close(...none);
    for (const refused of [waiter, request()]) {
      const error = await refused.catch((error) => error);
      expect(error).toBeInstanceOf(ClosedError);
      expect(error.name).toBe('ClosedError');
      expect(error.message).toMatch(/^jobs\b.*closed/);
    }
    expect(tries).toThrow(ClosedError);
    held.release();
  });

  test('close does not revoke a grant of the same step', async () => {
    const { object, request } = create();
    const held = await request();
    const [next, last] = [request(), request()];
    held.release();
    object.close('closed');
    await expect(last).rejects.toBe('closed');
    expect((await next).released).toBe(false);
    (await next).release();
    await object.drain({ timeout: 0 });
  });

  test('cancel rejects all waiters with an AbortError or its reason, and the primitive stays open', async () => {
    const { object, request, run } = create();
    const held = await request();
    const waits = () => [request(), request({ timeout: 60_000 }), run(() => 'never')];
    const first = waits();
    const drained = object.drain();
    object.cancel();
    for (const wait of first) await expect(wait).rejects.toHaveProperty('name', 'AbortError');
    const second = waits();
    object.cancel('enough');
    for (const wait of second) await expect(wait).rejects.toBe('enough');
    expect([object.waiting, object.closed, held.released]).toEqual([0, false, false]);
    const third = request();
    held.release();
    (await third).release();
    await drained;
  });

  test('drain resolves when the last permit is released and no request waits', async () => {
    const { object, request } = create();
    await object.drain();
    await object.drain({ timeout: 0 });
    const held = await request();
    const waiter = request();
    const drained: string[] = [];
    void object.drain().then(() => drained.push('first'));
    void object.drain({ timeout: 60_000 }).then(() => drained.push('second'));
    await expect(object.drain({ timeout: 0 })).rejects.toThrow('timed out after 0 ms');
    held.release();
    await nextMacrotask();
    expect(drained).toEqual([]);
    (await waiter).release();
    await nextMacrotask();
    expect(drained).toEqual(['first', 'second']);
  });

  test('drain resolves after a close, when the held permit is released', async () => {
    const { object, request } = create();
    const held = await request();
    const waiter = request();
    const drained = object.drain();
    object.close('closed');
    await expect(waiter).rejects.toBe('closed');
    held.release();
    await drained;
  });
});
