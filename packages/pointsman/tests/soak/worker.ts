/**
 * Calls its host in all ways concurrently, and ends with an error at the first answer to another call. It never ends
 * by itself.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { connect } from 'pointsman/bridge';
import { type Order, randomFrom, type SoakApi, workerApi } from './api.js';

const { seed, counter } = workerData as Order;
const random = randomFrom(seed);
const below = (limit: number) => Math.floor(random() * limit);

const host = connect<SoakApi>({ serve: workerApi });
await host.ready;

const source = Uint8Array.from({ length: 1 << 19 }, (_, at) => (at * 31) ^ (at >> 8));
let numbers = 0;
let notes = 0;
/** Asynchronous calls without an answer. */
const open = new Set<Promise<void>>();

function expect(found: unknown, wanted: unknown, what: string): void {
  if (!Object.is(found, wanted)) throw new Error(`${what}: ${found} instead of ${wanted}`);
}

/** Most are small; few are larger than the ring. */
function someBytes(): Uint8Array {
  const kind = random();
  const length = below(kind < 0.97 ? 200 : kind < 0.9995 ? 20_000 : source.length);
  const from = below(source.length - length);
  return source.subarray(from, from + length);
}

function checkEcho(
  found: { number: number; bytes: Uint8Array },
  number: number,
  bytes: Uint8Array,
) {
  expect(found.number, number + 1, 'echo');
  expect(found.bytes.length, bytes.length, 'bytes of echo');
  for (let at = 0; at < bytes.length; at += 1 + (bytes.length >> 6)) {
    expect(found.bytes[at], bytes[at], 'a byte of echo');
  }
}

function checkError(error: unknown, number: number): void {
  const { name, message, code } = error as Error & { code?: string };
  expect(`${name} ${message} ${code}`, `RangeError no ${number} E_SOAK`, 'error');
}

function start(call: Promise<void>): void {
  const settled = call.finally(() => open.delete(settled));
  open.add(settled);
}

const ways: readonly [weight: number, act: (number: number) => number][] = [
  [
    300,
    (number) => {
      expect(host.add(number, 1), number + 1, 'add');
      return 1;
    },
  ],
  [
    300,
    (number) => {
      const bytes = someBytes();
      checkEcho(host.echo({ number, bytes }), number, bytes);
      return 1;
    },
  ],
  [
    60,
    (number) => {
      const count = 1 + below(16);
      const answers = host.batch((calls) =>
        Array.from({ length: count }, (_, at) => calls.add(number, at)),
      );
      expect(answers.length, count, 'batch');
      for (const [at, answer] of answers.entries()) expect(answer, number + at, 'batch');
      return count;
    },
  ],
  [
    300,
    (number) => {
      const bytes = someBytes();
      start(host.async.echo({ number, bytes }).then((found) => checkEcho(found, number, bytes)));
      return 1;
    },
  ],
  [
    60,
    (number) => {
      start(host.async.later(number).then((found) => expect(found, number + 2, 'later')));
      return 1;
    },
  ],
  [
    60,
    () => {
      host.send.note();
      notes++;
      return 1;
    },
  ],
  [
    10,
    (number) => {
      try {
        host.fail(number);
      } catch (error) {
        checkError(error, number);
        return 1;
      }
      throw new Error('fail: it did not');
    },
  ],
  [
    10,
    (number) => {
      const call = host.async.failLater(number);
      start(
        call.then(
          () => Promise.reject(new Error('failLater: it did not')),
          (error) => checkError(error, number),
        ),
      );
      return 1;
    },
  ],
  [
    10,
    (number) => {
      expect(
        host.apply((value) => value + 1, number),
        number + 6,
        'apply',
      );
      return 1;
    },
  ],
  [
    10,
    (number) => {
      expect(host.nested(number), 2 * number + 6, 'nested');
      return 1;
    },
  ],
  [
    2,
    (number) => {
      const found = [...host.count(number, 3)];
      expect(found.join(), [number, number + 1, number + 2].join(), 'count');
      return 4;
    },
  ],
  [
    2,
    (number) => {
      const controller = new AbortController();
      const call = host.async.untilAborted(number, controller.signal);
      start(call.then((found) => expect(found, number + 4, 'untilAborted')));
      setImmediate(() => controller.abort());
      return 1;
    },
  ],
  [
    2,
    (number) => {
      const controller = new AbortController();
      const call = host.with({ signal: controller.signal }).async.slow(number);
      start(
        call.then(
          (found) => expect(found, number + 3, 'slow'),
          (error) => expect(error, controller.signal.reason, 'the reason'),
        ),
      );
      setImmediate(() => controller.abort(new Error('enough')));
      return 1;
    },
  ],
  [
    1,
    (number) => {
      try {
        expect(host.with({ timeout: below(6) }).slow(number), number + 3, 'slow');
      } catch (error) {
        if ((error as Error).name !== 'TimeoutError') throw error;
      }
      return 1;
    },
  ],
];
const total = ways.reduce((sum, [weight]) => sum + weight, 0);

function act(): void {
  let place = below(total);
  for (const [weight, make] of ways) {
    place -= weight;
    if (place >= 0) continue;
    numbers += 32;
    Atomics.add(counter, 0, make(numbers));
    return;
  }
}

for (;;) {
  const burst = 1 + below(400);
  for (let i = 0; i < burst; i++) {
    act();
    if (open.size > 256) await Promise.race(open);
  }
  // Its event loop has other work too: aborts, calls of the host, collected objects.
  await nextTurn();
  if (random() < 0.05) {
    await Promise.all(open);
    expect(host.notes(), notes, 'notes');
    notes = 0;
  }
}
