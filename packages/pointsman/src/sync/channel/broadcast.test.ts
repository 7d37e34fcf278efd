/** What a broadcast promises, and that it does just what a plain model of it does. */
import { nextMacrotask } from '@pointsman/spec';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  Broadcast,
  type BroadcastReceiver,
  ClosedError,
  LaggedError,
  TimeoutError,
} from '../index.js';

afterEach(() => {
  vi.useRealTimers();
});

const gone = new Error('gone');

/** All that it can receive now. */
function drain<T>(receiver: BroadcastReceiver<T>): (T | string)[] {
  const all: (T | string)[] = [];
  for (;;) {
    try {
      const next = receiver.tryReceive();
      if (next === undefined) return all;
      all.push(next.value);
    } catch (error) {
      if (!(error instanceof LaggedError)) return [...all, (error as Error).name];
      all.push(`missed ${error.missed}`);
    }
  }
}

test('each receiver sees each value that is sent after it has been subscribed', async () => {
  const broadcast = new Broadcast<number>(8);
  expect(broadcast.send(0)).toBe(0);
  const one = broadcast.subscribe();
  expect(broadcast.send(1)).toBe(1);
  const other = broadcast.subscribe();
  const waits = other.receive();
  expect(broadcast.send(2)).toBe(2);
  expect([one.length, other.length, broadcast.receivers]).toEqual([2, 0, 2]);
  expect([await one.receive(), await one.receive({}), await waits]).toEqual([1, 2, 2]);
  expect([one.tryReceive(), other.tryReceive()]).toEqual([undefined, undefined]);
});

test('a lagging receiver gets one LaggedError with the number of missed values, then the oldest kept value', async () => {
  const broadcast = new Broadcast<number>(3, { name: 'prices' });
  const slow = broadcast.subscribe();
  const fast = broadcast.subscribe();
  for (let n = 0; n < 10; n++) {
    broadcast.send(n);
    expect(await fast.receive()).toBe(n);
  }
  expect(slow.length).toBe(3);
  await expect(slow.receive()).rejects.toThrow('prices: 7 values were missed');
  expect(drain(slow)).toEqual([7, 8, 9]);
  for (let n = 0; n < 4; n++) broadcast.send(n);
  const iterator = slow[Symbol.asyncIterator]();
  await expect(iterator.next()).rejects.toMatchObject({ name: 'LaggedError', missed: 1 });
  expect(await iterator.next()).toEqual({ value: 1, done: false });
  expect(drain(fast)).toEqual(['missed 1', 1, 2, 3]);
});

test('waits on one receiver each get a value of their own; waits that give up lose none', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const broadcast = new Broadcast<number>(3);
  const receiver = broadcast.subscribe();
  const controller = new AbortController();
  const leaves = receiver.receive({ signal: controller.signal });
  const late = receiver.receive({ timeout: 10 });
  const iterator = receiver[Symbol.asyncIterator]();
  const waits = [receiver.receive(), iterator.next(), receiver.receive({ timeout: 60_000 })];
  controller.abort(gone);
  vi.advanceTimersByTime(10);
  await expect(leaves).rejects.toBe(gone);
  await expect(late).rejects.toThrow(TimeoutError);
  for (const n of [1, 2, 3, 4]) broadcast.send(n);
  expect(await Promise.all(waits)).toEqual([1, { value: 2, done: false }, 3]);
  expect(receiver.length).toBe(1);
  const ended = iterator.next();
  expect((await ended).value).toBe(4);
  const pending = iterator.next();
  await iterator.return?.();
  expect(await pending).toEqual({ value: undefined, done: true });
  broadcast.send(5);
  expect(drain(receiver)).toEqual([5]);
  expect(vi.getTimerCount()).toBe(0);
});

test('closed: kept values can still be received, then receivers are rejected', async () => {
  const broadcast = new Broadcast<number>(3);
  const full = broadcast.subscribe();
  broadcast.send(1);
  const empty = broadcast.subscribe();
  const waits = [empty.receive(), empty.receive({ timeout: 60_000 })];
  const iterating = empty[Symbol.asyncIterator]().next();
  broadcast.close();
  for (const wait of waits) await expect(wait).rejects.toThrow(ClosedError);
  expect(await iterating).toEqual({ value: undefined, done: true });
  expect(() => broadcast.send(2)).toThrow(ClosedError);
  expect([broadcast.closed, full.closed, full.length]).toEqual([true, true, 1]);
  const seen: number[] = [];
  for await (const value of full) seen.push(value);
  expect(seen).toEqual([1]);
  expect(() => full.tryReceive()).toThrow(ClosedError);
  await expect(broadcast.subscribe().receive()).rejects.toThrow(ClosedError);

  const failed = new Broadcast<number>(3);
  const iterator = failed.subscribe()[Symbol.asyncIterator]();
  const next = iterator.next();
  failed.close(gone);
  await expect(next).rejects.toBe(gone);
  await expect(iterator.next()).rejects.toBe(gone);
});

test('closing a receiver ends its waits and drops the values that it had not received', async () => {
  const broadcast = new Broadcast<number>(3);
  const waiting = broadcast.subscribe();
  const wait = waiting.receive();
  const iterating = waiting[Symbol.asyncIterator]().next();
  waiting.close();
  waiting.close();
  await expect(wait).rejects.toThrow(ClosedError);
  expect(await iterating).toEqual({ value: undefined, done: true });
  expect(broadcast.receivers).toBe(0);
  {
    using receiver = broadcast.subscribe();
    broadcast.send(1);
    expect([receiver.length, broadcast.receivers]).toEqual([1, 1]);
    receiver.close(gone);
    expect([receiver.length, receiver.closed, broadcast.closed]).toEqual([0, true, false]);
    expect(() => receiver.tryReceive()).toThrow(gone);
  }
  expect(broadcast.send(2)).toBe(0);
  const left = broadcast.subscribe();
  broadcast.send(3);
  broadcast.close();
  left.close();
  expect(() => left.tryReceive()).toThrow(ClosedError);
});

test('using closes it', () => {
  const broadcast = new Broadcast<number>(1);
  {
    using open = broadcast;
    expect(open.closed).toBe(false);
  }
  expect(broadcast.closed).toBe(true);
});

describe('a program', () => {
  type Step =
    | { readonly do: 'send' | 'subscribe' | 'pause' | 'closeAll' }
    | { readonly do: 'receive' | 'try' | 'close' | 'wait' | 'abort' | 'next'; readonly at: number };

  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 8, arbitrary: fc.constant({ do: 'send' } as const) },
    { weight: 2, arbitrary: fc.constantFrom({ do: 'subscribe' }, { do: 'pause' }) },
    {
      weight: 12,
      arbitrary: fc.record({
        do: fc.constantFrom('receive', 'try', 'receive', 'wait', 'abort', 'next', 'close'),
        at: fc.nat({ max: 3 }),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ do: 'closeAll' } as const) },
  ) as fc.Arbitrary<Step>;

  /** Each receiver of the model has all that it has not received; who lags is cut when it looks. */
  interface Model {
    unread: number[];
    missed: number;
    readonly waits: {
      readonly id: number;
      readonly controller: AbortController | undefined;
      iterates: boolean;
    }[];
    closed: boolean;
  }

  test('of calls in a row tells everybody what the model tells', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { minLength: 5, maxLength: 80, size: 'max' }),
        async (capacity, steps) => {
          const broadcast = new Broadcast<number>(capacity);
          const receivers: BroadcastReceiver<number>[] = [];
          const models: Model[] = [];
          const told: Record<number, string> = {};
          const expected: Record<number, string> = {};
          let over = false;
          let count = 0;
          let sent = 0;

          const take = (model: Model): string | undefined => {
            if (model.closed) return 'ClosedError';
            if (model.missed > 0) {
              const answer = `missed ${model.missed}`;
              model.missed = 0;
              return answer;
            }
            if (model.unread.length > 0) return `${model.unread.shift()}`;
            return over ? 'ClosedError' : undefined;
          };
          const told_ = (error: unknown) =>
            error instanceof LaggedError ? `missed ${error.missed}` : (error as Error).name;

          for (const each of steps) {
            const at = 'at' in each ? each.at % Math.max(receivers.length, 1) : 0;
            const receiver = receivers[at];
            const model = models[at];
            if (each.do === 'pause') {
              await nextMacrotask();
            } else if (each.do === 'subscribe') {
              receivers.push(broadcast.subscribe());
              models.push({ unread: [], missed: 0, waits: [], closed: false });
            } else if (each.do === 'closeAll') {
              broadcast.close();
              over = true;
              for (const model of models) {
                for (const { id, iterates } of model.waits) {
                  expected[id] = iterates ? 'done' : 'ClosedError';
                }
                model.waits.length = 0;
              }
            } else if (each.do === 'send') {
              if (over) continue;
              const value = sent++;
              for (const model of models) {
                if (model.closed) continue;
                const wait = model.waits.shift();
                if (wait !== undefined) expected[wait.id] = `${value}`;
                else if (model.unread.push(value) > capacity) {
                  model.unread.shift();
                  model.missed++;
                }
              }
              expect(broadcast.send(value)).toBe(models.filter(({ closed }) => !closed).length);
            } else if (receiver !== undefined && model !== undefined) {
              if (each.do === 'try') {
                let answer: string | undefined;
                try {
                  const next = receiver.tryReceive();
                  answer = next && `${next.value}`;
                } catch (error) {
                  answer = told_(error);
                }
                expect(answer).toBe(take(model));
              } else if (each.do === 'close') {
                receiver.close();
                model.closed = true;
                model.unread = [];
                for (const { id, iterates } of model.waits) {
                  expected[id] = iterates ? 'done' : 'ClosedError';
                }
                model.waits.length = 0;
              } else if (each.do === 'abort') {
                const wait = model.waits.find(({ controller }) => controller !== undefined);
                if (wait === undefined) continue;
                model.waits.splice(model.waits.indexOf(wait), 1);
                expected[wait.id] = 'AbortError';
                wait.controller?.abort();
              } else {
                const id = count++;
                const iterates = each.do === 'next';
                const controller = each.do === 'receive' ? new AbortController() : undefined;
                const options = controller ? [{ signal: controller.signal }] : [];
                const answer = iterates
                  ? receiver[Symbol.asyncIterator]()
                      .next()
                      .then(({ value, done }) => (done ? 'done' : `${value}`))
                  : receiver.receive(...options).then((value) => `${value}`);
                answer.then(
                  (value) => {
                    told[id] = value;
                  },
                  (error) => {
                    told[id] = told_(error);
                  },
                );
                const answered = take(model);
                if (answered === undefined) model.waits.push({ id, controller, iterates });
                else expected[id] = iterates && answered === 'ClosedError' ? 'done' : answered;
              }
              expect(receiver.length).toBe(model.unread.length);
            }
          }
          await nextMacrotask();
          expect(told).toEqual(expected);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
