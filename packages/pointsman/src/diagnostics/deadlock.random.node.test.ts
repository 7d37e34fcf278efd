/**
 * Random programs of tasks that lock in random orders and in random ways, some in functions that they call, some in such as
 * they do not wait for. With nothing left that could go on, what still waits is deadlocked: a report must have been given
 * exactly if something does, and it may only name such as still wait.
 */

import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { Mutex, RwLock, Semaphore } from '../sync/index.js';
import { type Deadlock, on, unwatch, watched } from './index.node.js';

/** What a function does, in order; what it holds it keeps until its end. */
interface Program {
  readonly steps: readonly Step[];
}

type Step =
  | { readonly does: 'lock' | 'lock by a helper' | 'lock later' | 'try'; readonly lock: number }
  | { readonly does: 'run'; readonly lock: number; readonly fn: Program }
  | { readonly does: 'call' | 'start' | 'call with others'; readonly fn: Program }
  | { readonly does: 'pause' | 'await a value' };

const lockCount = 4;

const { program } = fc.letrec<{ program: Program; step: Step }>((tie) => ({
  program: fc.record({ steps: fc.array(tie('step'), { minLength: 1, maxLength: 4 }) }),
  step: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record({ does: fc.constantFrom('pause', 'await a value') }),
    fc.record({
      does: fc.constantFrom('lock', 'lock', 'lock by a helper', 'lock later', 'try'),
      lock: fc.nat(lockCount - 1),
    }),
    fc.record({
      does: fc.constant('run' as const),
      lock: fc.nat(lockCount - 1),
      fn: tie('program'),
    }),
    fc.record({ does: fc.constantFrom('call', 'start', 'call with others'), fn: tie('program') }),
  ),
}));

interface Permitted {
  release(): void;
}

interface Lock {
  readonly lock: () => Promise<Permitted>;
  readonly tryLock: () => Permitted | undefined;
  readonly run: (fn: () => Promise<void>) => Promise<void>;
  readonly waiting: () => number;
  readonly end: () => void;
}

/** Mutexes, a semaphore of two and a lock for readers and writers, whose readers are asked for in turn with writers. */
function makeLock(index: number): Lock {
  const name = `lock ${index}`;
  const kind = index % lockCount;
  if (kind < 2) {
    const mutex = watched(new Mutex(), { name });
    return {
      lock: () => mutex.lock(),
      tryLock: () => mutex.tryLock(),
      run: (fn) => mutex.run(fn),
      waiting: () => mutex.waiting,
      end() {
        unwatch(mutex);
        mutex.close();
      },
    };
  }
  if (kind === 2) {
    const semaphore = watched(new Semaphore(2), { name });
    return {
      lock: () => semaphore.acquire(),
      tryLock: () => semaphore.tryAcquire(),
      run: (fn) => semaphore.run(fn),
      waiting: () => semaphore.waiting,
      end() {
        unwatch(semaphore);
        semaphore.close();
      },
    };
  }
  const lock = watched(new RwLock(), { name });
  let turns = 0;
  return {
    lock: () => (turns++ % 2 ? lock.write() : lock.read()),
    tryLock: () => lock.tryRead(),
    run: (fn) => (turns++ % 2 ? lock.runWrite(fn) : lock.runRead(fn)),
    waiting: () => lock.waiting,
    end() {
      unwatch(lock);
      lock.close();
    },
  };
}

async function perform({ steps }: Program, locks: readonly Lock[]): Promise<void> {
  const held: (Permitted | undefined)[] = [];
  const of = (index: number) => locks[index] as Lock;
  try {
    for (const step of steps) {
      switch (step.does) {
        case 'pause':
          await pause();
          break;
        case 'await a value':
          await 1;
          break;
        case 'lock':
          held.push(await of(step.lock).lock());
          break;
        case 'lock by a helper':
          held.push(await help(of(step.lock)));
          break;
        case 'try':
          held.push(of(step.lock).tryLock());
          break;
        case 'lock later': {
          const promise = of(step.lock).lock();
          await pause();
          held.push(await promise);
          break;
        }
        case 'run':
          await of(step.lock).run(() => perform(step.fn, locks));
          break;
        case 'call':
          await perform(step.fn, locks);
          break;
        case 'start':
          perform(step.fn, locks).catch(() => {});
          break;
        case 'call with others':
          await Promise.all([pause(), perform(step.fn, locks), 1]);
      }
    }
  } finally {
    for (const permit of held) permit?.release();
  }
}

/** How many are in a pause, which always ends. */
let pauses = 0;

async function pause(): Promise<void> {
  pauses++;
  await turn();
  pauses--;
}

/** Until nothing can go on any more. */
async function rest(): Promise<void> {
  for (let quiet = 0; quiet < 3; quiet = pauses > 0 ? 0 : quiet + 1) await turn();
}

async function help(lock: Lock): Promise<Permitted> {
  await 1;
  return lock.lock();
}

test('a deadlock is reported exactly where there is one', { timeout: 120_000 }, async () => {
  let deadlocks = 0;
  let others = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(program, { minLength: 1, maxLength: 3 }), async (programs) => {
      const found: Deadlock[] = [];
      const off = on('deadlock', (deadlock) => found.push(deadlock));
      const locks = Array.from({ length: lockCount }, (_, index) => makeLock(index));
      try {
        for (const each of programs) perform(each, locks).catch(() => {});
        await rest();
        const waiting = locks.some((lock) => lock.waiting() > 0);
        if (waiting) deadlocks++;
        else others++;
        // It is looked for in a timer, and what must be proved first takes another.
        if (waiting)
          await vi.waitFor(() => expect(found).not.toEqual([]), { interval: 1, timeout: 5_000 });
        else await new Promise((resolve) => setTimeout(resolve, 2));
        expect(found.length > 0).toBe(waiting);
        for (const { members } of found) {
          for (const { waitsFor } of members) {
            expect(locks[Number(waitsFor.primitive.slice(5))]?.waiting()).toBeGreaterThan(0);
          }
        }
      } finally {
        off();
        for (const lock of locks) lock.end();
      }
    }),
    { numRuns: 400 },
  );
  expect(deadlocks).toBeGreaterThan(20);
  expect(others).toBeGreaterThan(20);
});
