/** A thread may send anything: that fails at most its own tasks, and neither ends nor hangs its host. */
import { EventEmitter } from 'node:events';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Claims } from './claims.js';
import { Pool } from './index.node.js';
import { Mailbox } from './mailbox.js';
import { type CompleteSetup, READY, RETURNED, SETUP, TASK } from './protocol.js';

/** A thread played by the test. It replies correctly, except for the messages that the test makes it send. */
class Played extends EventEmitter {
  setup: CompleteSetup | undefined;
  readonly #tasks: number[] = [];
  readonly #says: (thread: Played) => void;
  isEnded = false;

  /** `says`: called when the first task arrives. */
  constructor(says: (thread: Played) => void) {
    super();
    this.#says = says;
  }

  postMessage(message: [string, CompleteSetup]): void {
    expect(message[0]).toBe(SETUP);
    const [, setup] = message;
    this.setup = setup;
    const { port, memory } = setup;
    const claims = new Claims(memory as SharedArrayBuffer);
    port.onmessage = ({ data: records }: { data: unknown[] }) => {
      const isFirst = this.#tasks.length === 0 && !this.isEnded;
      for (let at = 0; at < records.length; at += 5) {
        if (records[at] !== TASK) continue;
        const number = records[at + 1] as number;
        if (claims.claim(number)) this.#tasks.push(number);
      }
      if (isFirst) this.#says(this);
      for (const number of this.#tasks) this.say([RETURNED, number, 0, 'fine', 0]);
    };
    this.say([READY, 0, undefined, ['echo'], undefined]);
  }

  say(message: unknown): void {
    if (this.isEnded || this.setup === undefined) return;
    const { port, memory } = this.setup;
    port.postMessage(message);
    new Mailbox(memory as SharedArrayBuffer, Claims.BYTES, 'worker').posted();
  }

  terminate(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.setup?.port.close();
    queueMicrotask(() => this.emit('exit', 1));
  }
}

/** A pool whose first thread sends this, and whose other threads reply correctly. */
function poolWith(says: (thread: Played) => void) {
  let started = 0;
  const pool = new Pool<{ echo(value: unknown): unknown }>({
    threads: 1,
    grace: 0,
    worker: () => new Played(started++ === 0 ? says : () => {}) as never,
    onError: () => {},
  });
  onTestFinished(() => pool.terminate());
  return pool;
}

const settled = async (promise: Promise<unknown>) =>
  promise.then(
    () => 'settled',
    () => 'settled',
  );

async function expectAlive(pool: ReturnType<typeof poolWith>): Promise<void> {
  for (let n = 0; n < 2; n++) expect(await pool.run('echo', [n])).toBe('fine');
  const { runTime, queueWait, completed } = pool.metrics;
  for (const { mean, p99, max } of [runTime, queueWait]) {
    for (const each of [mean, p99, max]) expect(each).toBeGreaterThanOrEqual(0);
  }
  expect(completed).toBeGreaterThanOrEqual(2);
  expect([pool.waiting, pool.running]).toEqual([0, 0]);
  await pool.shutdown();
}

const [PACKED, ERROR] = [1 << 8, 1 << 9];

describe('a malformed message', () => {
  test.each<[string, unknown]>([
    ['null', null],
    ['a text', 'nonsense'],
    ['no whole record', [RETURNED, 0, 0]],
    ['a kind that is no number', [1n, 0, 0, 0, 0]],
    ['a call without an answer', [2, 0, 0, [], 0]],
    ['names that are none', [READY, 0, undefined, 5, undefined]],
    ['ready again', [READY, 0, undefined, ['echo'], undefined]],
    ['an iterator that is none', [READY + 4, 0, undefined, 5, undefined]],
    ['names that cannot be unpacked', [READY | PACKED, 0, undefined, { value: 1 }, undefined]],
  ])('%s: its task fails, and the next has another thread', async (_, message) => {
    const pool = poolWith((thread) => thread.say(message));
    await expect(pool.run('echo', [1])).rejects.toMatchObject({
      name: 'ThreadEndedError',
      message: 'the thread that ran echo() has sent a malformed message',
      cause: expect.any(Error),
    });
    await expectAlive(pool);
    expect(pool.metrics.threadsStarted).toBe(2);
  });

  test.each([Number.NaN, -1, Number.NEGATIVE_INFINITY, 'x', null, {}])(
    'a time of %s is not counted',
    async (time) => {
      const pool = poolWith((thread) => thread.say([RETURNED, 0, time, 'odd', time]));
      expect(await pool.run('echo', [1])).toBe('odd');
      await expectAlive(pool);
      expect(pool.metrics.runTime.count).toBe(2);
    },
  );
});

test('a thread that never stops sending is ended', async () => {
  const pool = poolWith((thread) => {
    for (let n = 0; n < 5_000; n++) thread.say([READY + 6, 0, undefined, n, undefined]);
  });
  const controller = new AbortController();
  const given = pool.run('echo', [1], { signal: controller.signal });
  controller.abort('enough');
  await expect(given).rejects.toBe('enough');
  await expectAlive(pool);
});

test('random messages of a thread', async () => {
  const small = fc.integer({ min: -2, max: 40 });
  const value = fc.oneof(
    small,
    fc.constantFrom(undefined, null, Number.NaN, -1, 1n, '', 2 ** 53, 0x40000000, 0x40000001),
    fc.anything({ withBigInt: true, withDate: true, withMap: true, withSparseArray: true }),
    fc.array(fc.constantFrom('echo', 'then', 'next', 1), { maxLength: 3 }),
    fc.record({ value: fc.anything(), places: fc.array(fc.anything()) }),
  );
  const kind = fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 0, max: 32 }) },
    {
      weight: 3,
      arbitrary: fc
        .tuple(fc.integer({ min: 0, max: 32 }), fc.constantFrom(PACKED, ERROR, PACKED | ERROR))
        .map(([kind, flag]) => kind | flag),
    },
    { weight: 1, arbitrary: value },
  );
  const record = fc.tuple(kind, fc.oneof(fc.constant(0), small, value), value, value, value);
  const message = fc.oneof(
    { weight: 6, arbitrary: fc.array(record, { maxLength: 4 }).map((records) => records.flat()) },
    { weight: 1, arbitrary: value },
    { weight: 1, arbitrary: fc.array(value, { maxLength: 12 }) },
  );
  const words = fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(fc.array(message, { maxLength: 4 }), words, async (messages, words) => {
      const pool = poolWith((thread) => {
        // The shared memory may contain anything, too.
        const memory = thread.setup?.memory as SharedArrayBuffer;
        new Int32Array(memory).set(words);
        for (const message of messages) {
          try {
            thread.say(message);
          } catch {
            // Structured clone refuses it.
          }
        }
      });
      await settled(pool.run('echo', [1]));
      await expectAlive(pool);
    }),
    { numRuns: 300 },
  );
}, 60_000);
