/** The readers-writer lock: compared with a model step by step, and the bounds of its waits. */
import { nextMacrotask } from '@pointsman/spec';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  ClosedError,
  KeyedRwLock,
  type Permit,
  QueueFullError,
  RwLock,
  type WritePermit,
} from '../index.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

type Kind = 'read' | 'write';

interface Asked {
  readonly id: number;
  readonly kind: Kind;
  readonly priority: number;
}

/** The model: a map of the holders and a list of the waiters. */
class Model {
  readonly inside = new Map<number, Kind>();
  waiting: Asked[] = [];
  readonly entered: number[] = [];

  get #writing(): boolean {
    return [...this.inside.values()].includes('write');
  }

  #writers(): Asked[] {
    // The sort is stable: FIFO within a priority.
    return this.waiting
      .filter(({ kind }) => kind === 'write')
      .sort((one, other) => other.priority - one.priority);
  }

  #enter({ id, kind }: Asked): void {
    this.waiting = this.waiting.filter((other) => other.id !== id);
    this.inside.set(id, kind);
    this.entered.push(id);
  }

  #enterReaders(): void {
    for (const asked of this.waiting.filter(({ kind }) => kind === 'read')) this.#enter(asked);
  }

  mayEnter(kind: Kind): boolean {
    if (kind === 'write') return this.inside.size === 0;
    return !this.#writing && this.#writers().length === 0;
  }

  ask(asked: Asked): void {
    const may = this.mayEnter(asked.kind);
    this.waiting.push(asked);
    if (may) this.#enter(asked);
  }

  leave(id: number): void {
    const kind = this.inside.get(id);
    this.inside.delete(id);
    if (kind === 'write') this.#enterReaders();
    const [writer] = this.#writers();
    if (this.inside.size === 0 && writer !== undefined) this.#enter(writer);
  }

  downgrade(id: number): void {
    this.inside.set(id, 'read');
    this.#enterReaders();
  }

  giveUp(id: number): void {
    this.waiting = this.waiting.filter((other) => other.id !== id);
    if (this.mayEnter('read')) this.#enterReaders();
  }
}

/** The lock and the model, which do every step together. */
class Pair {
  readonly lock = new RwLock();
  readonly model = new Model();
  readonly permits = new Map<number, Permit | WritePermit>();
  readonly #controllers = new Map<number, AbortController>();
  readonly #granted: number[] = [];
  readonly #refused = new Set<number>();
  readonly #gaveUp = new Set<number>();
  #count = 0;

  ask(kind: Kind, priority: number, plain: boolean): Promise<number | undefined> {
    const id = this.#count++;
    const controller = new AbortController();
    if (!plain) this.#controllers.set(id, controller);
    const only = plain ? undefined : { signal: controller.signal };
    this.model.ask({ id, kind, priority: kind === 'write' && !plain ? priority : 0 });
    const asked =
      kind === 'read' ? this.lock.read(only) : this.lock.write(only && { ...only, priority });
    const granted = asked.then(
      (permit) => {
        this.#granted.push(id);
        this.permits.set(id, permit);
        return id;
      },
      () => {
        this.#refused.add(id);
        return undefined;
      },
    );
    this.#check();
    return granted;
  }

  try(kind: Kind): void {
    const may = this.model.mayEnter(kind);
    const permit = kind === 'read' ? this.lock.tryRead() : this.lock.tryWrite();
    expect(permit !== undefined).toBe(may);
    permit?.release();
    this.#check();
  }

  release(id: number | undefined): void {
    const permit = this.permits.get(id as number);
    if (permit === undefined) return;
    this.permits.delete(id as number);
    this.model.leave(id as number);
    permit.release();
    permit.release();
    this.#check();
  }

  downgrade(id: number | undefined): void {
    const permit = this.permits.get(id as number);
    if (permit === undefined || !('downgrade' in permit)) return;
    this.model.downgrade(id as number);
    this.permits.set(id as number, permit.downgrade());
    expect(permit.released).toBe(true);
    this.#check();
  }

  abort(id: number | undefined): void {
    const controller = this.#controllers.get(id as number);
    if (controller === undefined) return;
    if (this.model.waiting.some((asked) => asked.id === id)) {
      this.#gaveUp.add(id as number);
      this.model.giveUp(id as number);
    }
    controller.abort();
    this.#check();
  }

  cancel(): void {
    for (const { id } of this.model.waiting) this.#gaveUp.add(id);
    this.model.waiting = [];
    this.lock.cancel();
    this.#check();
  }

  async finish(): Promise<void> {
    for (let rounds = 0; !this.lock.idle; rounds++) {
      expect(rounds).toBeLessThan(1_000);
      await nextMacrotask();
      for (const id of [...this.permits.keys()]) this.release(id);
    }
    await this.lock.drain();
    await nextMacrotask();
    expect(this.#granted).toEqual(this.model.entered);
    expect([...this.#refused].sort()).toEqual([...this.#gaveUp].sort());
    expect(vi.getTimerCount()).toBe(0);
  }

  #check(): void {
    const kinds = [...this.model.inside.values()];
    const { readers, writing, waiting } = this.lock;
    expect({ readers, writing, waiting }).toEqual({
      readers: kinds.filter((kind) => kind === 'read').length,
      writing: kinds.includes('write'),
      waiting: this.model.waiting.length,
    });
  }
}

const kind = fc.constantFrom<Kind>('read', 'read', 'write');
const priority = fc.constantFrom(0, 0, 0, 1, -1, 2);
const number = fc.nat({ max: 99 });

describe('random programs behave as the model', () => {
  type Step = (pair: Pair) => unknown;
  const named = (name: string, act: Step) =>
    Object.assign(act, { [fc.toStringMethod]: () => name });
  const pick = (ids: Iterable<number>, n: number) => [...ids][n % Math.max([...ids].length, 1)];

  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 30,
      arbitrary: fc
        .tuple(kind, priority, fc.boolean())
        .map(([kind, priority, plain]) =>
          named(`${kind}(${priority})`, (pair) => void pair.ask(kind, priority, plain)),
        ),
    },
    { weight: 8, arbitrary: kind.map((kind) => named(`try ${kind}`, (pair) => pair.try(kind))) },
    {
      weight: 25,
      arbitrary: number.map((n) =>
        named(`release(${n})`, (pair) => pair.release(pick(pair.permits.keys(), n))),
      ),
    },
    {
      weight: 8,
      arbitrary: number.map((n) =>
        named(`downgrade(${n})`, (pair) => pair.downgrade(pick(pair.permits.keys(), n))),
      ),
    },
    {
      weight: 10,
      arbitrary: number.map((n) =>
        named(`abort(${n})`, (pair) =>
          pair.abort(
            pick(
              pair.model.waiting.map(({ id }) => id),
              n,
            ),
          ),
        ),
      ),
    },
    { weight: 1, arbitrary: fc.constant(named('cancel()', (pair) => pair.cancel())) },
    { weight: 25, arbitrary: fc.constant(named('a microtask', () => Promise.resolve())) },
    { weight: 8, arbitrary: fc.constant(named('all microtasks', () => nextMacrotask())) },
  );

  test('steps in a row, with any number of microtasks in between', async () => {
    const program = fc.array(step, { minLength: 5, maxLength: 60, size: 'max' });
    await fc.assert(
      fc.asyncProperty(program, async (steps) => {
        const pair = new Pair();
        for (const step of steps) {
          const pause = step(pair);
          if (pause instanceof Promise) await pause;
        }
        await pair.finish();
      }),
      { numRuns: 1_000 },
    );
  });

  test('actors, whose steps the scheduler interleaves', async () => {
    const actor = fc.record({
      kind,
      priority,
      plain: fc.boolean(),
      turns: fc.nat({ max: 2 }),
      abortAfter: fc.option(fc.nat({ max: 2 }), { nil: undefined, freq: 3 }),
      downgrades: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(actor, { minLength: 2, maxLength: 8, size: 'max' }),
        async (scheduler, actors) => {
          const pair = new Pair();
          const turn = (label: string) => scheduler.schedule(Promise.resolve(), label);
          const act = async (actor: (typeof actors)[number], index: number) => {
            const name = `${actor.kind} ${index}`;
            await turn(`${name} asks`);
            const before = new Set(pair.model.waiting.map(({ id }) => id));
            const asked = pair.ask(actor.kind, actor.priority, actor.plain);
            const mine = pair.model.waiting.find(({ id }) => !before.has(id))?.id;
            if (actor.abortAfter !== undefined) void abortLater(mine, actor.abortAfter, name);
            const id = await asked;
            if (id === undefined) return;
            for (let n = 0; n < actor.turns; n++) await turn(`${name} is inside`);
            if (actor.downgrades) {
              pair.downgrade(id);
              await turn(`${name} reads on`);
            }
            pair.release(id);
          };
          const abortLater = async (id: number | undefined, after: number, name: string) => {
            for (let n = 0; n <= after; n++) await turn(`${name} thinks again`);
            pair.abort(id);
          };
          const all = actors.map(act);
          await scheduler.waitIdle();
          await pair.finish();
          await Promise.all(all);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

describe('fairness', () => {
  test('with endless writers a reader waits for at most one writer', async () => {
    const lock = new RwLock();
    let writers = 0;
    const inside: Permit[] = [];
    const writeOn = (): void => {
      void lock.write().then((permit) => {
        writers += 1;
        inside.push(permit);
      });
    };
    for (let n = 0; n < 5; n++) writeOn();
    for (let n = 0; n < 20; n++) {
      await nextMacrotask();
      // A writer holds the lock, and others wait.
      const before = writers;
      const reader = lock.read().then((permit) => {
        expect(writers).toBe(before);
        return permit;
      });
      writeOn();
      inside.pop()?.release();
      // Also a reader that arrives between the readers and the next writer.
      const late = lock.read().then((permit) => {
        expect(writers).toBeLessThanOrEqual(before + 1);
        permit.release();
      });
      (await reader).release();
      await nextMacrotask();
      writeOn();
      inside.pop()?.release();
      await late;
    }
    expect(writers).toBeGreaterThan(20);
  });

  test('with endless readers a writer waits for the readers of at most one phase', async () => {
    const lock = new RwLock();
    const first = await lock.read();
    const second = await lock.read();
    const writer = lock.write();
    const next = lock.write();
    const later = [lock.read(), lock.read()];
    expect(lock.tryRead()).toBeUndefined();
    first.release();
    expect(lock.writing).toBe(false);
    second.release();
    expect([lock.writing, lock.waiting]).toEqual([true, 3]);
    (await writer).release();
    expect([lock.readers, lock.waiting]).toEqual([2, 1]);
    // It arrived after the phase began, so the writer goes first.
    const last = lock.read();
    for (const reader of later) (await reader).release();
    expect(lock.writing).toBe(true);
    (await next).release();
    (await last).release();
    expect(lock.idle).toBe(true);
  });

  test('a priority orders writers, and has no effect on readers', async () => {
    const lock = new RwLock();
    const held = await lock.write();
    const order: string[] = [];
    const ask = (name: string, asked: Promise<Permit>) =>
      asked.then((permit) => {
        order.push(name);
        permit.release();
      });
    const all = [
      ask('low', lock.write({ priority: -1 })),
      ask('first', lock.write()),
      ask('reader', lock.read()),
      ask('high', lock.write({ priority: 5 })),
      ask('second', lock.write({ priority: 0 })),
    ];
    held.release();
    await Promise.all(all);
    expect(order).toEqual(['reader', 'high', 'first', 'second', 'low']);
  });
});

describe('downgrade', () => {
  test('admits the waiting readers, and no writer in between', async () => {
    const lock = new RwLock();
    const write = await lock.write();
    const writer = lock.write();
    const reader = lock.read();
    const read = write.downgrade();
    expect(write.released).toBe(true);
    expect([lock.readers, lock.writing, lock.waiting]).toEqual([2, false, 1]);
    write.release();
    read.release();
    expect(lock.writing).toBe(false);
    (await reader).release();
    expect(lock.writing).toBe(true);
    (await writer).release();
  });

  test('of a released permit throws, with no effect', async () => {
    const lock = new RwLock();
    const write = await lock.write();
    write.release();
    expect(() => write.downgrade()).toThrow(new TypeError('the permit was released'));
    const other = await lock.write();
    expect(() => write.downgrade()).toThrow(TypeError);
    expect(lock.writing).toBe(true);
    other.downgrade().release();
    expect(() => other.downgrade()).toThrow(TypeError);
    expect(lock.idle).toBe(true);
  });

  test('in runWrite: the read permit outlives the function', async () => {
    const lock = new RwLock();
    const read = await lock.runWrite((permit) => permit.downgrade());
    expect([lock.readers, lock.writing]).toEqual([1, false]);
    read.release();
    expect(lock.idle).toBe(true);
  });
});

describe('giving up', () => {
  test('readers that waited only for a writer that gives up enter at once', async () => {
    const lock = new RwLock();
    const held = await lock.read();
    const controller = new AbortController();
    const writer = lock.write({ signal: controller.signal });
    const timed = lock.write({ timeout: 10 });
    const readers = [lock.read(), lock.read({ timeout: 1_000 })];
    controller.abort('gone');
    expect(lock.readers).toBe(1);
    vi.advanceTimersByTime(10);
    expect([lock.readers, lock.waiting]).toEqual([3, 0]);
    await expect(writer).rejects.toBe('gone');
    await expect(timed).rejects.toThrow('timed out after 10 ms');
    for (const reader of readers) (await reader).release();
    held.release();
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each<Kind>(['read', 'write'])('an abort after the grant has no effect: %s', async (kind) => {
    const lock = new RwLock();
    const held = await lock.write();
    const controller = new AbortController();
    const waiter = lock[kind]({ signal: controller.signal });
    held.release();
    controller.abort();
    (await waiter).release();
    expect(lock.idle).toBe(true);
  });

  test.each<Kind>(['read', 'write'])(
    'an abort before the grant takes nothing: %s',
    async (kind) => {
      const lock = new RwLock();
      const held = await lock.write();
      const controller = new AbortController();
      const waiter = lock[kind]({ signal: controller.signal });
      controller.abort('gone');
      held.release();
      expect(lock.idle).toBe(true);
      await expect(waiter).rejects.toBe('gone');
      await expect(lock[kind]({ signal: controller.signal })).rejects.toBe('gone');
    },
  );

  test('a release by an earlier listener of the same signal does not grant to its waiters', async () => {
    const lock = new RwLock();
    const held = await lock.write();
    const controller = new AbortController();
    const { signal } = controller;
    // This listener runs before those of the waiters.
    signal.addEventListener('abort', () => held.release());
    const waiters = [lock.write({ signal }), lock.read({ signal }), lock.write({ signal })];
    const reader = lock.read();
    const writer = lock.write();
    controller.abort('gone');
    expect([lock.readers, lock.writing, lock.waiting]).toEqual([1, false, 1]);
    for (const waiter of waiters) await expect(waiter).rejects.toBe('gone');
    (await reader).release();
    (await writer).release();
    expect(lock.idle).toBe(true);
  });

  test('the signal of all writers has aborted: the readers behind them enter', async () => {
    const lock = new RwLock();
    const held = await lock.read();
    const controller = new AbortController();
    controller.signal.addEventListener('abort', () => held.release());
    const writer = lock.write({ signal: controller.signal });
    const reader = lock.read();
    controller.abort('gone');
    expect(lock.readers).toBe(1);
    await expect(writer).rejects.toBe('gone');
    (await reader).release();
  });

  test('a timeout of 0 succeeds only if the lock can be granted at once', async () => {
    const lock = new RwLock({ maxWaiting: 0 });
    (await lock.write({ timeout: 0 })).release();
    const read = await lock.read({ timeout: 0 });
    await expect(lock.write({ timeout: 0 })).rejects.toThrow('timed out after 0 ms');
    (await lock.read({ timeout: 0 })).release();
    read.release();
    expect(lock.idle).toBe(true);
  });
});

describe('maxWaiting', () => {
  test('bounds readers and writers together', async () => {
    const lock = new RwLock({ maxWaiting: 2, name: 'index' });
    const held = await lock.write();
    const reader = lock.read();
    const writer = lock.write({ priority: 1 });
    const message = 'index: the queue is full: 2 waiting';
    for (const refused of [lock.read(), lock.write(), lock.write({ priority: 9 })]) {
      await expect(refused).rejects.toThrow(new QueueFullError(message));
    }
    held.release();
    const late = lock.read();
    (await reader).release();
    (await writer).release();
    (await late).release();
  });
});

describe('run', () => {
  test('starts at once, releases when the result settles, and passes errors on', async () => {
    const lock = new RwLock();
    const seen: number[] = [];
    const one = lock.runRead(() => {
      seen.push(lock.readers);
      return Promise.resolve('one');
    });
    expect(seen).toEqual([1]);
    const two = lock.runWrite(async (permit) => {
      expect([lock.writing, permit.released]).toEqual([true, false]);
      throw new Error('lost');
    });
    expect(await one).toBe('one');
    await expect(two).rejects.toThrow('lost');
    await expect(lock.runRead(() => Promise.reject('no'))).rejects.toBe('no');
    expect(lock.idle).toBe(true);
  });
});

test('runRead refuses what is not a function', async () => {
  const lock = new RwLock();
  await expect(lock.runRead(1 as never)).rejects.toThrow('fn must be a function, got 1');
  expect(lock.idle).toBe(true);
});

describe('with keys', () => {
  test('keys are independent, and dropped when they are not in use', async () => {
    const keyed = new KeyedRwLock<string>({ name: 'files' });
    const reads = [await keyed.read('a'), await keyed.read('a')];
    const write = await keyed.write('b');
    expect([keyed.readersOf('a'), keyed.isWriting('a')]).toEqual([2, false]);
    expect([keyed.readersOf('b'), keyed.isWriting('b')]).toEqual([0, true]);
    expect([keyed.readersOf('c'), keyed.isWriting('c'), keyed.waitingFor('c')]).toEqual([
      0,
      false,
      0,
    ]);
    const writer = keyed.write('a', { priority: 1 });
    const reader = keyed.read('a', { timeout: 1_000 });
    expect([keyed.keyCount, [...keyed.keys()], keyed.waitingFor('a')]).toEqual([2, ['a', 'b'], 2]);
    expect(keyed.tryRead('a')).toBeUndefined();
    expect(keyed.tryWrite('b')).toBeUndefined();
    await expect(keyed.read('b', { timeout: 0 })).rejects.toThrow(
      'files "b": timed out after 0 ms',
    );
    for (const read of reads) read.release();
    (await writer).downgrade().release();
    (await reader).release();
    write.release();
    expect(keyed.keyCount).toBe(0);
    keyed.tryWrite('a')?.release();
    keyed.tryRead('a')?.release();
    expect(await keyed.runRead('a', () => keyed.readersOf('a'))).toBe(1);
    expect(await keyed.runWrite('a', () => keyed.isWriting('a'))).toBe(true);
    await keyed.drain();
    expect(keyed.keyCount).toBe(0);
  });

  test('close, cancel and bad input', async () => {
    const keyed = new KeyedRwLock<string>({ maxWaiting: 1 });
    const write = await keyed.write('a');
    const reader = keyed.read('a');
    await expect(keyed.write('a')).rejects.toThrow(QueueFullError);
    keyed.cancel('not now');
    await expect(reader).rejects.toBe('not now');
    await expect(keyed.read('b', { timeout: -1 })).rejects.toThrow(RangeError);
    await expect(keyed.runWrite('b', 1 as never)).rejects.toThrow(TypeError);
    expect(keyed.keyCount).toBe(1);
    const waiter = keyed.read('a');
    const drained = keyed.drain();
    keyed.close();
    await expect(waiter).rejects.toThrow(ClosedError);
    await expect(keyed.read('b')).rejects.toThrow(ClosedError);
    expect(() => keyed.tryWrite('b')).toThrow(ClosedError);
    write.release();
    await drained;
    expect(keyed.keyCount).toBe(0);
  });
});
