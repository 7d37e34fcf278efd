/** What a watch promises, and that it does just what a plain model of it does. */
import { nextMacrotask } from '@pointsman/spec';
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { ClosedError, TimeoutError, Watch, type WatchReceiver } from '../index.js';

afterEach(() => {
  vi.useRealTimers();
});

const gone = new Error('gone');

test('a receiver has seen the present value, and then sees the latest', async () => {
  const watch = new Watch('a');
  const receiver = watch.subscribe();
  expect([receiver.value, receiver.hasChanged, watch.receivers]).toEqual(['a', false, 1]);
  watch.send('b');
  watch.send('c');
  expect([receiver.value, receiver.hasChanged, watch.value]).toEqual(['c', true, 'c']);
  expect(await receiver.changed()).toBe('c');
  expect(receiver.hasChanged).toBe(false);
  expect(watch.subscribe().hasChanged).toBe(false);
});

test('the same value again is a change', async () => {
  const watch = new Watch(1);
  const receiver = watch.subscribe();
  const changed = receiver.changed();
  watch.send(1);
  expect(await changed).toBe(1);
  watch.update((value) => value);
  expect(receiver.hasChanged).toBe(true);
});

test('a change resolves all waits on all receivers; a wait that gives up misses none', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const watch = new Watch(0);
  const one = watch.subscribe();
  const other = watch.subscribe();
  const controller = new AbortController();
  const leaves = one.changed({ signal: controller.signal });
  const late = other.changed({ timeout: 10 });
  const waits = [one.changed(), one.changed({ timeout: 60_000 }), other.changed()];
  controller.abort(gone);
  vi.advanceTimersByTime(10);
  await expect(leaves).rejects.toBe(gone);
  await expect(late).rejects.toThrow(TimeoutError);
  watch.send(1);
  expect([one.hasChanged, other.hasChanged]).toEqual([false, false]);
  expect(await Promise.all(waits)).toEqual([1, 1, 1]);

  const again = one.changed({ signal: new AbortController().signal, timeout: 5 });
  vi.advanceTimersByTime(5);
  await expect(again).rejects.toThrow(TimeoutError);
  watch.send(2);
  expect(one.hasChanged).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test('an iterator gives the present value and then each latest', async () => {
  const watch = new Watch(0);
  const receiver = watch.subscribe();
  const seen: number[] = [];
  const iterating = (async () => {
    for await (const value of receiver) {
      seen.push(value);
      if (value === 2) {
        watch.send(3);
        watch.send(4);
      }
    }
  })();
  await nextMacrotask();
  watch.send(1);
  await nextMacrotask();
  watch.send(2);
  await nextMacrotask();
  watch.close();
  await iterating;
  expect(seen).toEqual([0, 1, 2, 4]);
});

test('closed: the last value is still seen, then receivers are rejected', async () => {
  const watch = new Watch('a', { name: 'state' });
  const behind = watch.subscribe();
  watch.send('b');
  const waiting = watch.subscribe();
  const wait = waiting.changed();
  watch.close();
  watch.close(gone);
  await expect(wait).rejects.toThrow('state: the primitive is closed');
  expect(await behind.changed()).toBe('b');
  await expect(behind.changed()).rejects.toThrow(ClosedError);
  expect([watch.value, behind.value, behind.hasChanged, behind.closed]).toEqual([
    'b',
    'b',
    false,
    true,
  ]);
  expect(() => watch.send('c')).toThrow(ClosedError);
  let called = false;
  const update = () => {
    called = true;
    return 'c';
  };
  expect(() => watch.update(update)).toThrow(ClosedError);
  expect(called).toBe(false);

  const failed = new Watch(1);
  const iterator = failed.subscribe()[Symbol.asyncIterator]();
  failed.close(gone);
  expect(await iterator.next()).toEqual({ value: 1, done: false });
  await expect(iterator.next()).rejects.toBe(gone);
});

test('a receiver that is closed leaves', async () => {
  const watch = new Watch(1);
  const left = watch.subscribe();
  const wait = left.changed();
  left.close();
  await expect(wait).rejects.toThrow(ClosedError);
  watch.send(2);
  expect([left.hasChanged, left.value, watch.receivers]).toEqual([false, 2, 0]);
  {
    using receiver = watch.subscribe();
    watch.send(3);
    expect([receiver.hasChanged, watch.receivers]).toEqual([true, 1]);
  }
  expect(watch.receivers).toBe(0);
  {
    using open = watch;
    expect(open.closed).toBe(false);
  }
  expect(watch.closed).toBe(true);
});

test('a program tells everybody what a model tells: the version that each has seen', async () => {
  const step = fc.record({
    do: fc.constantFrom(
      'send',
      'send',
      'subscribe',
      'changed',
      'changed',
      'abort',
      'pause',
      'close',
    ),
    at: fc.nat({ max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 60, size: 'max' }),
      async (steps) => {
        const watch = new Watch(0);
        const receivers: WatchReceiver<number>[] = [];
        const models: { seen: number; closed: boolean; waits: [number, AbortController][] }[] = [];
        const told: Record<number, unknown> = {};
        const expected: Record<number, unknown> = {};
        let version = 0;
        let count = 0;
        for (const each of steps) {
          const at = each.at % Math.max(receivers.length, 1);
          const receiver = receivers[at];
          const model = models[at];
          if (each.do === 'pause') {
            await nextMacrotask();
          } else if (each.do === 'subscribe') {
            receivers.push(watch.subscribe());
            models.push({ seen: version, closed: false, waits: [] });
          } else if (each.do === 'send') {
            version++;
            for (const model of models) {
              for (const [id] of model.waits) expected[id] = version;
              if (model.waits.length > 0) model.seen = version;
              model.waits.length = 0;
            }
            watch.send(version);
          } else if (receiver !== undefined && model !== undefined) {
            if (each.do === 'close') {
              receiver.close();
              model.closed = true;
              for (const [id] of model.waits) expected[id] = 'ClosedError';
              model.waits.length = 0;
            } else if (each.do === 'abort') {
              const wait = model.waits.pop();
              if (wait === undefined) continue;
              expected[wait[0]] = 'AbortError';
              wait[1].abort();
            } else {
              const id = count++;
              const controller = new AbortController();
              receiver.changed({ signal: controller.signal }).then(
                (value) => {
                  told[id] = value;
                },
                (error) => {
                  told[id] = error.name;
                },
              );
              if (model.closed) {
                expected[id] = 'ClosedError';
              } else if (model.seen < version) {
                model.seen = version;
                expected[id] = version;
              } else {
                model.waits.push([id, controller]);
              }
            }
            expect(receiver.hasChanged).toBe(!model.closed && model.seen < version);
          }
        }
        await nextMacrotask();
        expect(told).toEqual(expected);
      },
    ),
    { numRuns: 1_000 },
  );
});
