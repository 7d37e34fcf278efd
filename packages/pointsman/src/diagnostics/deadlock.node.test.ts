/** Deadlocks are found where they are, and nowhere else. */

import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KeyedMutex, Mutex, type Permit, Semaphore } from '../sync/index.js';
import { type Deadlock, on, runTask, unwatch, watched } from './index.node.js';

let found: Deadlock[];
let off: () => void;
const all: object[] = [];

function see<Primitive extends object>(primitive: Primitive, name: string): Primitive {
  all.push(primitive);
  return watched(primitive, { name });
}

let a: Mutex;
let b: Mutex;
let c: Mutex;

beforeEach(() => {
  found = [];
  off = on('deadlock', (deadlock) => found.push(deadlock));
  a = see(new Mutex(), 'a');
  b = see(new Mutex(), 'b');
  c = see(new Mutex(), 'c');
});

afterEach(() => {
  off();
  for (const primitive of all.splice(0)) {
    (primitive as Mutex).cancel?.();
    unwatch(primitive);
  }
});

/** Long enough for all that can go on to come to rest. */
async function rest(): Promise<void> {
  for (let i = 0; i < 5; i++) {
    await turn();
    await new Promise((resolve) => setTimeout(resolve));
  }
}

/** What each member holds and waits for. */
const shape = ({ members }: Deadlock) =>
  members
    .map(({ holds, waitsFor }) => `${holds.map((hold) => hold.primitive)} > ${waitsFor.primitive}`)
    .sort();

/** Starts them, and forgets what they reject with when the test ends. */
function start(...functions: (() => PromiseLike<unknown>)[]): void {
  for (const fn of functions) fn().then(undefined, () => {});
}

const nothing = () => new Promise<never>(() => {});

describe('is found', () => {
  test('between two functions that lock in different orders', async () => {
    async function first() {
      using _ = await a.lock();
      await null;
      using __ = await b.lock();
    }
    async function second() {
      using _ = await b.lock();
      await null;
      using __ = await a.lock();
    }
    start(first, second);
    await rest();
    expect(found.map(shape)).toEqual([['a > b', 'b > a']]);
    const stacks = found[0]?.members.flatMap(({ holds, waitsFor }) => [
      ...holds.map(({ stack }) => stack[0]),
      waitsFor.stack[0],
    ]);
    expect(stacks?.filter((line) => line?.startsWith('first'))).toHaveLength(2);
    expect(stacks?.filter((line) => line?.startsWith('second'))).toHaveLength(2);
  });

  test('with helpers that lock, with and without await, and return the permit', async () => {
    const lockA = async () => {
      const permit = await a.lock();
      return permit;
    };
    const lockB = async () => b.lock();
    const lockC = () => lockIt(c);
    async function lockIt(mutex: Mutex): Promise<Permit> {
      await 1;
      return await mutex.lock();
    }
    start(
      async () => {
        using _ = await lockA();
        await null;
        using __ = await lockB();
      },
      async () => {
        using _ = await lockB();
        await null;
        using __ = await lockC();
      },
      async () => {
        using _ = await lockC();
        await null;
        using __ = await lockA();
      },
    );
    await rest();
    expect(found.map(shape)).toEqual([['a > b', 'b > c', 'c > a']]);
  });

  test('with the second lock in a function that is awaited, however deep', async () => {
    async function deep(mutex: Mutex, depth: number): Promise<void> {
      if (depth > 3) await turn();
      if (depth > 0) return await deep(mutex, depth - 1);
      using _ = await mutex.lock();
    }
    start(
      async () => {
        using _ = await a.lock();
        await deep(b, 3);
      },
      async () => {
        using _ = await b.lock();
        await Promise.all([deep(c, 2), deep(a, 5)]);
      },
    );
    await rest();
    expect(found.map(shape)).toEqual([['a > b', 'b > a']]);
  });

  test('with run, and run within run', async () => {
    start(
      () =>
        a.run(async () => {
          await turn();
          await b.run(() => {});
        }),
      () => b.run(() => turn().then(() => a.run(() => {}))),
    );
    await rest();
    expect(found.map(shape)).toEqual([['a > b', 'b > a']]);
  });

  test('with then', async () => {
    const chain = (one: Mutex, other: Mutex) =>
      one.lock().then((outer) => turn().then(() => other.lock().then((inner) => [outer, inner])));
    start(
      async () => await chain(a, b),
      async () => await chain(b, a),
    );
    await rest();
    expect(found.map(shape)).toEqual([['a > b', 'b > a']]);
  });

  test('with an async callback of then', async () => {
    start(
      () =>
        a.lock().then(async () => {
          await turn();
          await b.lock();
        }),
      () =>
        b.lock().then(async () => {
          await turn();
          await a.lock();
        }),
    );
    await rest();
    expect(found.map(shape)).toEqual([['a > b', 'b > a']]);
  });

  test('of one that waits for itself', async () => {
    start(async () => {
      using _ = await a.lock();
      using __ = await a.lock();
    });
    await rest();
    expect(found.map(shape)).toEqual([['a > a']]);
  });

  test('with tryLock', async () => {
    const one = async (first: Mutex, second: Mutex) => {
      using _ = first.tryLock();
      await turn();
      using __ = await second.lock();
    };
    start(
      () => one(a, b),
      () => one(b, a),
    );
    await rest();
    expect(found.map(shape)).toEqual([['a > b', 'b > a']]);
  });

  test('with await using and for await', async () => {
    async function* items() {
      yield 1;
      await turn();
      yield 2;
    }
    start(
      async () => {
        await using lock = await a.lock();
        for await (const item of items()) {
          if (item < 2) continue;
          using _ = await b.lock();
        }
        return lock;
      },
      async () => {
        await using lock = await b.lock();
        for await (const item of items()) {
          if (item < 2) continue;
          using _ = await a.lock();
        }
        return lock;
      },
    );
    await rest();
    expect(found.map(shape)).toEqual([['a > b', 'b > a']]);
  });

  test('when all permits of a semaphore are held by waiters', async () => {
    const semaphore = see(new Semaphore(2), 'semaphore');
    const worker = async () => {
      using _ = await semaphore.acquire();
      await turn();
      using __ = await semaphore.acquire();
    };
    start(worker, worker);
    await rest();
    expect(found).toHaveLength(1);
    expect(found[0]?.members[0]?.waitsFor.primitive).toBe('semaphore');
  });

  test('among keys', async () => {
    const accounts = see(new KeyedMutex<string>(), 'account');
    const transfer = async (from: string, to: string) => {
      using _ = await accounts.lock(from);
      await turn();
      using __ = await accounts.lock(to);
    };
    start(
      () => runTask('ann to bob', () => transfer('ann', 'bob')),
      () => runTask('bob to ann', () => transfer('bob', 'ann')),
    );
    await rest();
    const members = found[0]?.members.map(
      ({ context, holds, waitsFor }) => [context, holds[0]?.keys, waitsFor.keys] as const,
    );
    expect(found).toHaveLength(1);
    expect([...(members ?? [])].sort()).toEqual([
      ['ann to bob', ['"ann"'], ['"bob"']],
      ['bob to ann', ['"bob"'], ['"ann"']],
    ]);
  });

  test('with locks that one function takes together', async () => {
    start(
      async () => {
        await Promise.all([a.lock(), b.lock()]);
        await turn();
        await c.lock();
      },
      async () => {
        await c.lock();
        await turn();
        await a.lock();
      },
    );
    await rest();
    expect(found.map(shape)).toEqual([['a > c', 'c > a']]);
  });

  test('when a promise that waits is awaited later', async () => {
    start(
      async () => {
        using _ = await a.lock();
        const second = b.lock();
        await turn();
        await turn();
        await second;
      },
      async () => {
        using _ = await b.lock();
        using __ = await a.lock();
      },
    );
    await rest();
    expect(found.map(shape)).toEqual([['a > b', 'b > a']]);
  });

  test('once, though others come', async () => {
    const one = async (first: Mutex, second: Mutex) => {
      using _ = await first.lock();
      await null;
      using __ = await second.lock();
    };
    start(
      () => one(a, b),
      () => one(b, a),
    );
    await rest();
    start(
      () => a.lock(),
      () => b.lock(),
      () => one(a, b),
    );
    await rest();
    expect(found).toHaveLength(1);
  });
});

describe('is not found', () => {
  afterEach(async () => {
    await rest();
    expect(found).toEqual([]);
  });

  test('among siblings that are started in one run', async () => {
    const worker = async (mutexes: Mutex[]) => {
      await turn();
      for (const mutex of mutexes) {
        using _ = await mutex.lock();
        await turn();
      }
    };
    await Promise.all(
      [
        [a, b, c],
        [c, b, a],
        [b, a, c],
      ].map(worker),
    );
    const held = [a.lock(), b.lock()];
    const other = [b.lock(), a.lock()];
    for (const permit of await Promise.all(held)) permit.release();
    for (const permit of await Promise.all(other)) permit.release();
  });

  test('with a child that is not awaited', async () => {
    const child = async (mutex: Mutex) => {
      using _ = await mutex.lock();
    };
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const parent = async (mine: Mutex, other: Mutex) => {
      using _ = await mine.lock();
      void child(other);
      const promise = child(other);
      void promise.then(() => {});
      await gate;
    };
    const runs = [parent(a, b), parent(b, a)];
    await rest();
    expect([a.waiting, b.waiting]).toEqual([2, 2]);
    go();
    await Promise.all(runs);
  });

  test('with a helper that starts another, and does not await it', async () => {
    const child = async (mutex: Mutex) => {
      using _ = await mutex.lock();
    };
    const helper = async (mutex: Mutex) => {
      void child(mutex);
      await rest();
    };
    const plain = (mutex: Mutex) => {
      void child(mutex);
      return rest();
    };
    const parent = async (mine: Mutex, other: Mutex, fn: (mutex: Mutex) => Promise<void>) => {
      using _ = await mine.lock();
      await fn(other);
    };
    await Promise.all([parent(a, b, helper), parent(b, a, helper)]);
    await Promise.all([parent(a, b, plain), parent(b, a, plain)]);
    await Promise.all([
      a.run(() => helper(b)),
      b.run(() => {
        void child(a);
        return rest();
      }),
    ]);
  });

  test('where the first of several is enough', async () => {
    const parent = async (mine: Mutex, other: Mutex) => {
      using _ = await mine.lock();
      await Promise.race([other.lock().then((lock) => lock.release()), rest()]);
    };
    await Promise.all([parent(a, b), parent(b, a)]);
  });

  test('where a semaphore has one more holder, who can go on', async () => {
    const semaphore = see(new Semaphore(3), 'semaphore');
    const free = await semaphore.acquire();
    const worker = async () => {
      using _ = await semaphore.acquire();
      await turn();
      using __ = await semaphore.acquire();
    };
    const workers = [worker(), worker()];
    await rest();
    expect(semaphore.waiting).toBe(2);
    free.release();
    await Promise.all(workers);
  });

  test('where another promise is resolved under the lock', async () => {
    let tell = () => {};
    const told = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const first = async () => {
      using _ = await a.lock();
      tell();
      await rest();
    };
    const second = async () => {
      await told;
      using _ = await b.lock();
      using __ = await a.lock();
    };
    await Promise.all([first(), second()]);
  });

  test('where another function releases the permit', async () => {
    const first = async () => {
      const permit = await a.lock();
      setTimeout(() => permit.release(), 1);
      return nothing;
    };
    await first();
    await a.lock();
  });
});
