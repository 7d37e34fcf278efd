/** The semaphore: permits, order, limits, `run`, `drain`, `close` and `cancel`. */
import { nextMacrotask } from '@pointsman/spec';
import { describe, expect, test } from 'vitest';
import { dispose } from '../dispose.js';
import { ClosedError, KeyedMutex, type Permit, Semaphore, select, TimeoutError } from '../index.js';

/** Tasks that record how many permits are held at once. */
function observed(semaphore: Semaphore) {
  const inside = { now: 0, max: 0 };
  const task = async (permit: Permit) => {
    inside.now += permit.permits;
    inside.max = Math.max(inside.max, inside.now);
    await nextMacrotask();
    inside.now -= permit.permits;
    permit.release();
  };
  return { inside, enter: async () => task(await semaphore.acquire()) };
}

describe('acquire', () => {
  test.each([1, 2, 10])('grants %d permits at once, and serves all requests', async (limit) => {
    const { inside, enter } = observed(new Semaphore(limit));
    await Promise.all(Array.from({ length: 3 * limit + 1 }, enter));
    expect(inside).toEqual({ now: 0, max: limit });
  });

  test('takes the permit before it returns', () => {
    const semaphore = new Semaphore(2);
    void semaphore.acquire();
    expect(semaphore.available).toBe(1);
    void semaphore.acquire({});
    expect(semaphore.available).toBe(0);
    void semaphore.acquire();
    void semaphore.acquire({});
    expect(semaphore.waiting).toBe(2);
  });

  test('grants one permit by default, and up to the limit', async () => {
    const semaphore = new Semaphore(3);
    const one = await semaphore.acquire();
    expect(one.permits).toBe(1);
    expect(one.released).toBe(false);
    one.release();
    const all = await semaphore.acquire({ permits: 3 });
    expect(all.permits).toBe(3);
    expect(semaphore.available).toBe(0);
    all.release();
    expect(semaphore.available).toBe(3);
  });

  test('grants a waiter the permits that it requested, all or none', async () => {
    const semaphore = new Semaphore(3);
    const held = [await semaphore.acquire(), await semaphore.acquire({ permits: 2 })];
    const waiters = [semaphore.acquire({ permits: 3 }), semaphore.acquire()];
    held[0]?.release();
    await nextMacrotask();
    expect(semaphore.available).toBe(1);
    expect(semaphore.waiting).toBe(2);
    held[1]?.release();
    const large = await waiters[0];
    expect(large?.permits).toBe(3);
    expect(semaphore.waiting).toBe(1);
    large?.release();
    expect((await waiters[1])?.permits).toBe(1);
    expect(semaphore.available).toBe(2);
  });

  test('serves waiters in the order of arrival', async () => {
    const semaphore = new Semaphore(2);
    const held = [await semaphore.acquire(), await semaphore.acquire()];
    const granted: number[] = [];
    for (let n = 0; n < 20; n++) {
      const options = [undefined, {}, { permits: 2 }, { priority: 0 }][n % 4];
      void semaphore.acquire(options).then((permit) => {
        granted.push(n);
        permit.release();
      });
    }
    for (const permit of held) permit.release();
    await nextMacrotask();
    expect(granted).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });

  test('a small request never overtakes an earlier large one', async () => {
    const semaphore = new Semaphore(3);
    const held = await semaphore.acquire({ permits: 2 });
    const granted: string[] = [];
    const large = semaphore.acquire({ permits: 2 });
    void large.then(() => granted.push('large'));
    void semaphore.acquire().then(() => granted.push('small'));
    void semaphore.acquire({ permits: 1 }).then(() => granted.push('small with options'));
    await nextMacrotask();
    expect(granted).toEqual([]);
    expect(semaphore.available).toBe(1);
    expect(semaphore.waiting).toBe(3);
    held.release();
    await nextMacrotask();
    expect(granted).toEqual(['large', 'small']);
    (await large).release();
    await nextMacrotask();
    expect(granted).toEqual(['large', 'small', 'small with options']);
  });

  test('a released permit goes to the waiter: no request takes it in between', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const waiter = semaphore.acquire();
    held.release();
    expect(semaphore.available).toBe(0);
    expect(semaphore.tryAcquire()).toBeUndefined();
    const late = semaphore.acquire();
    expect(semaphore.waiting).toBe(1);
    (await waiter).release();
    (await late).release();
    expect(semaphore.available).toBe(1);
  });

  test('can be called from the continuation of a grant', async () => {
    const semaphore = new Semaphore(1);
    let depth = 0;
    const nest = (permit: Permit): Promise<unknown> | undefined => {
      depth += 1;
      const next = depth < 100 ? semaphore.acquire().then(nest) : undefined;
      permit.release();
      return next;
    };
    await semaphore.acquire().then(nest);
    expect(depth).toBe(100);
    expect(semaphore.idle).toBe(true);
  });
});

describe('priority', () => {
  async function orderOf(priorities: (number | undefined)[]): Promise<(number | undefined)[]> {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const granted: (number | undefined)[] = [];
    for (const priority of priorities) {
      const options = priority === undefined ? [] : [{ priority }];
      void semaphore.acquire(...options).then((permit) => {
        granted.push(priority);
        permit.release();
      });
    }
    held.release();
    await nextMacrotask();
    return granted;
  }

  test('a higher priority goes first', async () => {
    expect(await orderOf([1, 3, 2])).toEqual([3, 2, 1]);
    expect(await orderOf([-1, -3, -2])).toEqual([-1, -2, -3]);
    expect(await orderOf([0.1, 1e300, -1e300, 0.2])).toEqual([1e300, 0.2, 0.1, -1e300]);
  });

  test('the default is 0', async () => {
    const order = await orderOf([undefined, -1, 0, 1, undefined, -1, 0, 1]);
    expect(order).toEqual([1, 1, undefined, 0, undefined, 0, -1, -1]);
  });

  test('requests of one priority are FIFO', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const granted: string[] = [];
    for (const [index, priority] of [5, -5, 0, 5, -5, 0, 5, -5, 0].entries()) {
      void semaphore.acquire({ priority }).then((permit) => {
        granted.push(`${priority}: ${index}`);
        permit.release();
      });
    }
    held.release();
    await nextMacrotask();
    expect(granted).toEqual(
      ['5: 0', '5: 3', '5: 6', '0: 2', '0: 5', '0: 8', '-5: 1', '-5: 4', '-5: 7'], //
    );
  });

  test('a request of higher priority that fits overtakes a large one that does not', async () => {
    const semaphore = new Semaphore(3);
    const held = await semaphore.acquire({ permits: 2 });
    void semaphore.acquire({ permits: 2 });
    expect(semaphore.waiting).toBe(1);
    const urgent = await semaphore.acquire({ priority: 1 });
    expect(semaphore.available).toBe(0);
    held.release();
    urgent.release();
    expect(semaphore.waiting).toBe(0);
  });

  test('a request without priority overtakes a large one of negative priority', async () => {
    const semaphore = new Semaphore(3);
    const held = await semaphore.acquire({ permits: 2 });
    void semaphore.acquire({ permits: 2, priority: -1 });
    (await semaphore.acquire()).release();
    (await semaphore.acquire({})).release();
    expect(await semaphore.run(() => 'ran')).toBe('ran');
    semaphore.tryAcquire()?.release();
    expect(semaphore.waiting).toBe(1);
    expect(semaphore.available).toBe(1);
    const equal = semaphore.acquire({ priority: -1 });
    expect(semaphore.waiting).toBe(2);
    held.release();
    await equal;
    expect(semaphore.available).toBe(0);
  });
});

describe('tryAcquire', () => {
  test('returns a permit, or undefined if none is free', () => {
    const semaphore = new Semaphore(2);
    const first = semaphore.tryAcquire();
    const second = semaphore.tryAcquire({ permits: 1 });
    expect(first?.permits).toBe(1);
    expect(second?.permits).toBe(1);
    expect(semaphore.tryAcquire()).toBeUndefined();
    expect(semaphore.tryAcquire({ permits: 2 })).toBeUndefined();
    expect(semaphore.available).toBe(0);
    expect(semaphore.waiting).toBe(0);
    first?.release();
    expect(semaphore.tryAcquire({ permits: 2 })).toBeUndefined();
    second?.release();
    expect(semaphore.tryAcquire({ permits: 2 })?.permits).toBe(2);
  });

  test('never overtakes a waiter, even if a permit is free', () => {
    const semaphore = new Semaphore(3);
    const held = semaphore.tryAcquire({ permits: 2 });
    void semaphore.acquire({ permits: 2 });
    expect(semaphore.available).toBe(1);
    expect(semaphore.tryAcquire()).toBeUndefined();
    expect(semaphore.tryAcquire({})).toBeUndefined();
    expect(semaphore.tryAcquire({ priority: 0 })).toBeUndefined();
    expect(semaphore.tryAcquire({ priority: -1 })).toBeUndefined();
    held?.release();
    expect(semaphore.waiting).toBe(0);
    expect(semaphore.tryAcquire()?.permits).toBe(1);
  });

  test('overtakes waiters with a higher priority, if it fits', () => {
    const semaphore = new Semaphore(3);
    semaphore.tryAcquire({ permits: 2 });
    void semaphore.acquire({ permits: 2 });
    expect(semaphore.tryAcquire({ priority: 1, permits: 2 })).toBeUndefined();
    expect(semaphore.tryAcquire({ priority: 1 })?.permits).toBe(1);
    expect(semaphore.tryAcquire({ priority: 1 })).toBeUndefined();
  });
});

describe('a permit', () => {
  test('is given back once, also if it is released again', async () => {
    const semaphore = new Semaphore(1);
    const first = await semaphore.acquire();
    first.release();
    expect(first.released).toBe(true);
    const second = await semaphore.acquire();
    first.release();
    first[dispose]();
    expect(semaphore.available).toBe(0);
    expect(second.released).toBe(false);
    expect(semaphore.tryAcquire()).toBeUndefined();
    second.release();
    expect(semaphore.available).toBe(1);
  });

  /** Each of these creates its permits differently. */
  const waysIn: [string, (semaphore: Semaphore, held?: Permit) => Promise<Permit>][] = [
    ['acquire', (semaphore) => semaphore.acquire()],
    ['acquire with options', (semaphore) => semaphore.acquire({ priority: 1 })],
    ['tryAcquire', async (semaphore) => semaphore.tryAcquire() as Permit],
    ['tryAcquire with options', async (semaphore) => semaphore.tryAcquire({}) as Permit],
    [
      'the queue',
      async (semaphore) => {
        const held = await semaphore.acquire({ permits: semaphore.limit });
        const waiter = semaphore.acquire();
        held.release();
        return waiter;
      },
    ],
    [
      'the queue, handed over by a permit of one',
      async (semaphore) => {
        const held = await semaphore.acquire({ permits: semaphore.limit - 1 });
        const last = await semaphore.acquire();
        const waiter = semaphore.acquire();
        last.release();
        const permit = await waiter;
        held.release();
        return permit;
      },
    ],
    [
      'the queue with options',
      async (semaphore) => {
        const held = await semaphore.acquire({ permits: semaphore.limit });
        const waiter = semaphore.acquire({ timeout: 60_000 });
        held.release();
        return waiter;
      },
    ],
  ];

  test.each(waysIn)('by %s is released once by release', async (_, enter) => {
    const semaphore = new Semaphore(2);
    const permit = await enter(semaphore);
    expect(permit.permits).toBe(1);
    expect(permit.released).toBe(false);
    expect(semaphore.available).toBe(1);
    const other = await semaphore.acquire();
    for (let times = 0; times < 3; times++) {
      expect(permit.release()).toBeUndefined();
      expect(permit.released).toBe(true);
      expect(permit.permits).toBe(1);
      expect(semaphore.available).toBe(1);
    }
    expect(other.released).toBe(false);
  });

  test.each(waysIn)('by %s is released once by using', async (_, enter) => {
    const semaphore = new Semaphore(2);
    let kept: Permit;
    {
      using permit = await enter(semaphore);
      kept = permit;
      expect(semaphore.available).toBe(1);
    }
    expect(kept.released).toBe(true);
    expect(semaphore.available).toBe(2);
    {
      using permit = await enter(semaphore);
      permit.release();
      expect(semaphore.available).toBe(2);
      void semaphore.acquire();
      expect(semaphore.available).toBe(1);
    }
    expect(semaphore.available).toBe(1);
  });

  test('for several permits gives all of them back, once', async () => {
    const semaphore = new Semaphore(5);
    const two = await semaphore.acquire({ permits: 2 });
    const three = await semaphore.acquire({ permits: 3 });
    const granted: number[] = [];
    for (const permits of [1, 2, 1]) {
      void semaphore.acquire({ permits }).then(() => granted.push(permits));
    }
    three.release();
    three.release();
    await nextMacrotask();
    expect(granted).toEqual([1, 2]);
    expect(semaphore.available).toBe(0);
    two.release();
    await nextMacrotask();
    expect(granted).toEqual([1, 2, 1]);
    expect(semaphore.available).toBe(1);
  });

  test('is not a thenable: awaiting it returns the permit', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const waiter = semaphore.acquire();
    held.release();
    const permit = await waiter;
    expect(await permit).toBe(permit);
    expect('then' in held && held.then).toBeFalsy();
    expect('then' in permit && permit.then).toBeFalsy();
  });

  test.each(waysIn)('from %s has a release that needs no object', async (_, enter) => {
    const semaphore = new Semaphore(3);
    const permit = await enter(semaphore);
    const { release } = permit;
    await Promise.resolve().finally(permit.release);
    expect([permit.released, semaphore.available]).toEqual([true, 3]);
    const other = await semaphore.acquire({ permits: 3 });
    release();
    permit.release();
    expect([other.released, semaphore.available]).toEqual([false, 0]);
  });

  test('can be released by a timer and by an event, with any arguments', async () => {
    const semaphore = new Semaphore(2);
    const target = new EventTarget();
    target.addEventListener('close', (await semaphore.acquire()).release);
    setTimeout((await semaphore.acquire()).release, 0, 'an argument');
    target.dispatchEvent(new Event('close'));
    await semaphore.drain();
    expect(semaphore.available).toBe(2);
  });

  test('can be released by another task than its holder', async () => {
    const semaphore = new Semaphore(1);
    const permits: Permit[] = [];
    await semaphore.run(async () => {
      void semaphore.acquire().then((permit) => permits.push(permit));
    });
    await nextMacrotask();
    permits[0]?.release();
    expect(semaphore.idle).toBe(true);
  });
});

describe('limit', () => {
  test('raised, serves waiters at once and in order', async () => {
    const semaphore = new Semaphore(1);
    void semaphore.acquire();
    const granted: string[] = [];
    void semaphore.acquire().then(() => granted.push('plain'));
    void semaphore.acquire({ timeout: 60_000 }).then(({ release }) => granted.push(typeof release));
    const last = semaphore.acquire();
    semaphore.limit = 3;
    expect(semaphore.waiting).toBe(1);
    expect(semaphore.available).toBe(0);
    await nextMacrotask();
    expect(granted).toEqual(['plain', 'function']);
    semaphore.limit = 10;
    expect(semaphore.waiting).toBe(0);
    expect(semaphore.available).toBe(6);
    (await last).release();
    expect(semaphore.available).toBe(7);
  });

  test('raised, lets no request overtake', async () => {
    const semaphore = new Semaphore(2);
    const held = await semaphore.acquire({ permits: 2 });
    void semaphore.acquire({ permits: 2 });
    void semaphore.acquire();
    semaphore.limit = 3;
    expect(semaphore.available).toBe(1);
    expect(semaphore.waiting).toBe(2);
    held.release();
    expect(semaphore.available).toBe(0);
    expect(semaphore.waiting).toBe(0);
  });

  test('lowered, revokes nothing and is reached as permits are released', async () => {
    const semaphore = new Semaphore(4);
    const held = await Promise.all(Array.from({ length: 4 }, () => semaphore.acquire()));
    semaphore.limit = 2;
    expect(semaphore.limit).toBe(2);
    expect(semaphore.available).toBe(0);
    expect(held.every((permit) => !permit.released)).toBe(true);
    const waiter = semaphore.acquire();
    const patient = semaphore.acquire({ priority: -1 });
    for (const [index, waiting] of [2, 2, 1, 0].entries()) {
      held[index]?.release();
      expect(semaphore.available).toBe(0);
      expect(semaphore.waiting).toBe(waiting);
      expect(semaphore.tryAcquire()).toBeUndefined();
    }
    (await waiter).release();
    expect(semaphore.available).toBe(1);
    (await patient).release();
    expect(semaphore.available).toBe(2);
    expect(semaphore.idle).toBe(true);
  });

  test('lowered and raised again, has no effect', async () => {
    const semaphore = new Semaphore(4);
    const held = await semaphore.acquire({ permits: 3 });
    semaphore.limit = 1;
    semaphore.limit = 4;
    expect(semaphore.available).toBe(1);
    held.release();
    expect(semaphore.available).toBe(4);
    semaphore.limit = 4;
    expect(semaphore.available).toBe(4);
  });

  test('lowered while idle, applies to the next request', () => {
    const semaphore = new Semaphore(4);
    semaphore.limit = 1;
    expect(semaphore.available).toBe(1);
    expect(semaphore.idle).toBe(true);
    semaphore.tryAcquire();
    expect(semaphore.tryAcquire()).toBeUndefined();
  });

  test('lowered, refuses a request for more at once', async () => {
    const semaphore = new Semaphore(4);
    semaphore.limit = 2;
    await expect(semaphore.acquire({ permits: 3 })).rejects.toThrow(RangeError);
    expect(() => semaphore.tryAcquire({ permits: 3 })).toThrow(/permits.* 2\b.* 3\b/);
  });

  test('lowered, rejects a waiter at the front that requests more, and serves those behind', async () => {
    const semaphore = new Semaphore(3);
    const held = await semaphore.acquire();
    const large = semaphore.acquire({ permits: 3 });
    const larger = semaphore.acquire({ permits: 3, timeout: 60_000 });
    const small = semaphore.acquire();
    semaphore.limit = 2;
    expect(semaphore.waiting).toBe(0);
    expect(semaphore.available).toBe(0);
    for (const waiter of [large, larger]) {
      const error = await waiter.catch((error) => error);
      expect(error).toBeInstanceOf(RangeError);
      expect(error.message).toMatch(/permits.*at most 2.* 3\b/);
    }
    (await small).release();
    held.release();
    expect(semaphore.available).toBe(2);
  });

  test('lowered, rejects a waiter that requests more only when it comes to the front', async () => {
    const semaphore = new Semaphore(3);
    const held = await semaphore.acquire({ permits: 3 });
    const front = semaphore.acquire({ permits: 2 });
    const large = semaphore.acquire({ permits: 3 });
    const behind = semaphore.acquire();
    semaphore.limit = 2;
    expect(semaphore.waiting).toBe(3);
    held.release();
    // The front was served, so the large request came to the front and was rejected.
    expect(semaphore.waiting).toBe(1);
    await expect(large).rejects.toThrow(RangeError);
    (await front).release();
    (await behind).release();
    expect(semaphore.idle).toBe(true);
  });

  test('lowered and raised before a large request comes to the front, serves it', async () => {
    const semaphore = new Semaphore(3);
    const held = await semaphore.acquire({ permits: 3 });
    const front = semaphore.acquire({ permits: 2 });
    const large = semaphore.acquire({ permits: 3 });
    semaphore.limit = 2;
    semaphore.limit = 3;
    held.release();
    (await front).release();
    expect((await large).permits).toBe(3);
  });

  test('lowered, and the front gives up: the request for more behind it is rejected', async () => {
    const semaphore = new Semaphore(3);
    const held = await semaphore.acquire({ permits: 3 });
    const controller = new AbortController();
    const front = semaphore.acquire({ signal: controller.signal });
    const large = semaphore.acquire({ permits: 3 });
    semaphore.limit = 2;
    expect(semaphore.waiting).toBe(2);
    controller.abort();
    expect(semaphore.waiting).toBe(0);
    await expect(large).rejects.toThrow(RangeError);
    await expect(front).rejects.toBe(controller.signal.reason);
    held.release();
    expect(semaphore.available).toBe(2);
    expect(semaphore.idle).toBe(true);
  });

  test('can be set from the continuation of a grant', async () => {
    const semaphore = new Semaphore(1);
    const held = await semaphore.acquire();
    const waiters = [1, 2, 3].map(() =>
      semaphore.acquire().then(() => {
        semaphore.limit += 1;
      }),
    );
    held.release();
    await Promise.all(waiters);
    expect(semaphore.limit).toBe(4);
    expect(semaphore.available).toBe(1);
  });
});

describe('run', () => {
  test('resolves with any result of fn', async () => {
    const semaphore = new Semaphore(1);
    for (const result of [1, 'text', null, undefined, false, { a: 1 }, [semaphore]]) {
      expect(await semaphore.run(() => result)).toBe(result);
      expect(await semaphore.run(async () => result)).toBe(result);
      expect(await semaphore.run(() => Promise.resolve(result), {})).toBe(result);
      expect(semaphore.available).toBe(1);
    }
  });

  test('rejects with any error of fn, and never throws', async () => {
    const semaphore = new Semaphore(1);
    for (const error of [new Error('mine'), 'text', null, undefined, 0, false]) {
      for (const options of [undefined, {}]) {
        const fail = () => {
          throw error;
        };
        await expect(semaphore.run(fail, options)).rejects.toBe(error);
        await expect(semaphore.run(async () => fail(), options)).rejects.toBe(error);
        await expect(semaphore.run(() => Promise.reject(error), options)).rejects.toBe(error);
        expect(semaphore.available).toBe(1);
      }
    }
  });

  test('awaits a foreign thenable', async () => {
    const semaphore = new Semaphore(1);
    const available: number[] = [];
    const thenable = {
      // biome-ignore lint/suspicious/noThenProperty: a foreign thenable
      then(resolve: (value: string) => void) {
        available.push(semaphore.available);
        void nextMacrotask().then(() => {
          available.push(semaphore.available);
          resolve('theirs');
        });
      },
    } as PromiseLike<string>;
    expect(await semaphore.run(() => thenable)).toBe('theirs');
    expect(await semaphore.run(() => thenable, {})).toBe('theirs');
    expect(available).toEqual([0, 0, 0, 0]);
    expect(semaphore.available).toBe(1);
  });

  test('rejects with the error of a getter of then', async () => {
    const semaphore = new Semaphore(1);
    const error = new Error('from then');
    const broken = {
      // biome-ignore lint/suspicious/noThenProperty: a foreign thenable
      get then(): never {
        throw error;
      },
    } as unknown as PromiseLike<string>;
    for (const options of [undefined, {}]) {
      await expect(semaphore.run(() => broken, options)).rejects.toBe(error);
      expect(semaphore.available).toBe(1);
    }
  });

  test('holds the permit until the result of fn has settled', async () => {
    const semaphore = new Semaphore(1);
    for (const options of [undefined, {}]) {
      let finish: (() => void) | undefined;
      const run = semaphore.run(() => new Promise<void>((resolve) => (finish = resolve)), options);
      await nextMacrotask();
      expect(semaphore.available).toBe(0);
      finish?.();
      await run;
      expect(semaphore.available).toBe(1);
    }
  });

  test.each([
    ['without options', undefined],
    ['with options', { timeout: 60_000 }],
  ])('%s, starts fn before it returns if a permit is free', async (_, options) => {
    const semaphore = new Semaphore(1);
    const log: string[] = [];
    const run = semaphore.run(() => log.push('in fn'), options);
    log.push('run has returned');
    await run;
    expect(log).toEqual(['in fn', 'run has returned']);
  });

  test('starts functions in order, when their turns come', async () => {
    const semaphore = new Semaphore(2);
    const log: string[] = [];
    const inside = { now: 0, max: 0 };
    await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        semaphore.run(async () => {
          inside.now += 1;
          inside.max = Math.max(inside.max, inside.now);
          log.push(`${n} starts`);
          await nextMacrotask();
          inside.now -= 1;
        }),
      ),
    );
    expect(log).toEqual([0, 1, 2, 3, 4, 5].map((n) => `${n} starts`));
    expect(inside).toEqual({ now: 0, max: 2 });
    expect(semaphore.available).toBe(2);
  });

  test('accepts the options of acquire', async () => {
    const semaphore = new Semaphore(3);
    const taken = await semaphore.run(() => semaphore.available, { permits: 2 });
    expect(taken).toBe(1);
    const held = await semaphore.acquire({ permits: 3 });
    const controller = new AbortController();
    const aborted = semaphore.run(() => 'never', { signal: controller.signal });
    const late = semaphore.run(() => 'late', { priority: -1 });
    const soon = semaphore.run(() => 'soon');
    controller.abort('changed my mind');
    await expect(aborted).rejects.toBe('changed my mind');
    await expect(semaphore.run(() => 'never', { timeout: 0 })).rejects.toThrow(TimeoutError);
    held.release();
    expect(await Promise.race([late, soon])).toBe('soon');
    expect(await late).toBe('late');
    expect(semaphore.available).toBe(3);
  });

  test('an abort has no effect once fn has started', async () => {
    const semaphore = new Semaphore(1);
    const controller = new AbortController();
    const result = await semaphore.run(
      async () => {
        controller.abort();
        await nextMacrotask();
        return 'finished';
      },
      { signal: controller.signal },
    );
    expect(result).toBe('finished');
    expect(semaphore.available).toBe(1);
  });

  test('fn can acquire further permits, release others, close and change the limit', async () => {
    const semaphore = new Semaphore(2);
    const other = await semaphore.acquire();
    await semaphore.run(async () => {
      other.release();
      await semaphore.run(async () => {
        expect(semaphore.available).toBe(0);
        semaphore.limit = 3;
        expect(semaphore.tryAcquire()?.release()).toBeUndefined();
        expect(semaphore.available).toBe(1);
        semaphore.close();
      });
      await expect(semaphore.run(() => 'never')).rejects.toThrow(ClosedError);
    });
    expect(semaphore.available).toBe(3);
    expect(semaphore.idle).toBe(true);
  });

  test('rejects with the error of fn, also if the semaphore was closed meanwhile', async () => {
    const semaphore = new Semaphore(1);
    const error = new Error('from fn');
    const run = semaphore.run(async () => {
      semaphore.close(new Error('from close'));
      throw error;
    });
    await expect(run).rejects.toBe(error);
    expect(semaphore.available).toBe(1);
  });

  test('hands its permit to the next waiter', async () => {
    const semaphore = new Semaphore(1);
    const run = semaphore.run(() => 'first');
    const waiter = semaphore.acquire();
    expect(semaphore.waiting).toBe(1);
    expect(await run).toBe('first');
    expect(semaphore.waiting).toBe(0);
    expect(semaphore.available).toBe(0);
    (await waiter).release();
    const failing = semaphore.run(() => Promise.reject(new Error('second')));
    const next = semaphore.acquire();
    await expect(failing).rejects.toThrow('second');
    (await next).release();
    expect(semaphore.available).toBe(1);
  });
});

describe('drain', () => {
  test('drain of an idle semaphore wins a select at once: later cases do not start', async () => {
    const idle = new Semaphore(1);
    const other = new Semaphore(1);
    const { key } = await select(
      { drained: (only) => idle.drain(only), permit: (only) => other.acquire(only) },
      { biased: true },
    );
    expect(key).toBe('drained');
    expect(other.available).toBe(1);
  });

  test('drain can be called again, and accepts new requests', async () => {
    const semaphore = new Semaphore(1);
    for (let round = 0; round < 3; round++) {
      const held = await semaphore.acquire();
      const drain = semaphore.drain();
      held.release();
      const next = semaphore.tryAcquire();
      expect(next?.permits).toBe(1);
      await drain;
      next?.release();
      expect(semaphore.idle).toBe(true);
    }
  });

  test('drain waits for permits above a lowered limit', async () => {
    const semaphore = new Semaphore(3);
    const held = await Promise.all([1, 2, 3].map(() => semaphore.acquire()));
    let drained = false;
    const drain = semaphore.drain().then(() => {
      drained = true;
    });
    semaphore.limit = 1;
    for (const permit of held) {
      await nextMacrotask();
      expect(drained).toBe(false);
      permit.release();
    }
    await drain;
    expect(semaphore.idle).toBe(true);
  });
});

describe('close', () => {
  test('leaves held permits valid', async () => {
    const semaphore = new Semaphore(2);
    const one = await semaphore.acquire();
    const granted = semaphore.acquire();
    semaphore.close();
    const other = await granted;
    expect([one.released, other.released]).toEqual([false, false]);
    expect(semaphore.available).toBe(0);
    one.release();
    one.release();
    expect(semaphore.available).toBe(1);
    other.release();
    expect(semaphore.available).toBe(2);
    expect(semaphore.idle).toBe(true);
  });

  test('the limit can still be changed', async () => {
    const semaphore = new Semaphore(1);
    semaphore.close();
    semaphore.limit = 3;
    expect(semaphore.available).toBe(3);
    await expect(semaphore.acquire()).rejects.toThrow(ClosedError);
  });

  test('invalid options are reported also when closed', async () => {
    const semaphore = new Semaphore(1);
    semaphore.close();
    await expect(semaphore.acquire({ permits: 2 })).rejects.toThrow(RangeError);
  });
});

describe('a limit of 0', () => {
  test('makes requests and drain wait until it is raised', async () => {
    const semaphore = new Semaphore(0);
    expect([semaphore.available, semaphore.idle]).toEqual([0, true]);
    expect(semaphore.tryAcquire()).toBeUndefined();
    expect(semaphore.tryAcquire({ permits: 9 })).toBeUndefined();
    const waits = [
      semaphore.acquire(),
      semaphore.acquire({ permits: 2 }),
      semaphore.acquire({ permits: 9 }),
    ];
    expect([semaphore.waiting, semaphore.idle]).toEqual([3, false]);
    const drained = semaphore.drain();
    semaphore.limit = 3;
    const [one, two] = await Promise.all(waits.slice(0, 2));
    await expect(waits[2]).rejects.toThrow('permits must be at most 3, got 9');
    semaphore.limit = 0;
    one?.release();
    two?.release();
    await drained;
    expect(semaphore.available).toBe(0);
  });

  test('drain resolves when the last waiter is rejected', async () => {
    const semaphore = new Semaphore(0);
    for (const leave of [() => semaphore.cancel('cancelled'), () => semaphore.close('closed')]) {
      const wait = semaphore.acquire();
      const drained = semaphore.drain();
      leave();
      await expect(wait).rejects.toMatch(/cancelled|closed/);
      await drained;
    }
  });
});

test('a limit of Infinity grants every request, and can be lowered and raised', async () => {
  const semaphore = new Semaphore(Number.POSITIVE_INFINITY);
  const held = [await semaphore.acquire(), await semaphore.acquire({ permits: 1_000_000 })];
  expect(semaphore.available).toBe(Number.POSITIVE_INFINITY);
  semaphore.limit = 2;
  expect(semaphore.available).toBe(0);
  held[1]?.release();
  expect(semaphore.available).toBe(1);
  semaphore.limit = Number.POSITIVE_INFINITY;
  expect(semaphore.available).toBe(Number.POSITIVE_INFINITY);
  held[0]?.release();
  expect(semaphore.idle).toBe(true);
});

describe('cancel', () => {
  test('of a keyed mutex rejects the waiters of all keys', async () => {
    const keyed = new KeyedMutex<string>();
    const held = [await keyed.lock('a'), await keyed.lock('b')];
    const waits = [keyed.lock('a'), keyed.lock('b')];
    keyed.cancel('cancelled');
    for (const wait of waits) await expect(wait).rejects.toBe('cancelled');
    expect([...keyed.keys()]).toEqual(['a', 'b']);
    for (const lock of held) lock.release();
    expect(keyed.keyCount).toBe(0);
  });
});
