/**
 * Tests of the scenarios themselves: the reference model with one mistake in it, most of them
 * made by some real library, must fail in the files that speak of it.
 */
import { describe, expect, test } from 'vitest';
import type { AcquireRequest, Guard, TryRequest, WaitRequest } from './implementation.js';
import { createModel, ModelError, ModelKeyed, ModelSemaphore, type Waiter } from './model.js';
import { runScenario } from './runner.js';
import { scenarioFiles } from './scenarios.js';

interface Mutant {
  /** The files in which it must fail. */
  readonly fails: readonly string[];
  readonly semaphore?: typeof ModelSemaphore;
  readonly keyed?: typeof ModelKeyed;
}

const mutants: Record<string, Mutant> = {
  'lets everybody in': {
    fails: ['semaphore/exclusion.yaml', 'mutex/exclusion.yaml', 'keyed-mutex/keys.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override fits() {
        return true;
      }
    },
  },
  'counts an acquire of several permits as one': {
    fails: ['semaphore/exclusion.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override take(_permits: number, owner: string | undefined) {
        return super.take(1, owner);
      }
    },
  },
  'serves the last first': {
    fails: ['semaphore/fifo.yaml', 'mutex/exclusion.yaml', 'keyed-mutex/keys.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override insert(queue: Waiter[], waiter: Waiter) {
        queue.unshift(waiter);
      }
    },
  },
  'lets a small waiter pass a large one': {
    fails: ['semaphore/fifo.yaml', 'semaphore/set-limit.yaml', 'keyed-semaphore/keys.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override serve() {
        this.queue.sort(
          (one, other) => Number(this.fits(other.permits)) - Number(this.fits(one.permits)),
        );
        super.serve();
      }
    },
  },
  'lets a newcomer take what is on its way to a waiter': {
    fails: ['semaphore/fifo.yaml', 'mutex/exclusion.yaml', 'semaphore/race.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override giveBack(permits: number) {
        this.held -= permits;
        this.owner = undefined;
        queueMicrotask(() => this.serve());
      }
      override async acquire(request: AcquireRequest): Promise<Guard> {
        const { permits = 1, owner } = request;
        const bargesIn = permits === 1 && this.fits(1) && !this.end && !request.signal?.aborted;
        return bargesIn ? this.take(permits, owner) : super.acquire(request);
      }
    },
  },
  'ignores priority': {
    fails: ['semaphore/priority.yaml', 'mutex/exclusion.yaml', 'keyed-semaphore/giving-up.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override insert(queue: Waiter[], waiter: Waiter) {
        queue.push(waiter);
      }
    },
  },
  'serves the last first among equal priorities': {
    fails: ['semaphore/priority.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override insert(queue: Waiter[], waiter: Waiter) {
        if (waiter.priority === 0) return super.insert(queue, waiter);
        const place = queue.findIndex((other) => other.priority <= waiter.priority);
        queue.splice(place < 0 ? queue.length : place, 0, waiter);
      }
    },
  },
  'keeps whoever gave up in the queue, to take a permit for nobody': {
    fails: ['semaphore/abort.yaml', 'semaphore/timeout.yaml', 'mutex/giving-up.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override leave() {}
    },
  },
  'wakes nobody when a large head gives up': {
    fails: ['semaphore/abort.yaml', 'semaphore/timeout.yaml', 'keyed-semaphore/giving-up.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override leave(queue: Waiter[], waiter: Waiter) {
        const place = queue.indexOf(waiter);
        if (place >= 0) queue.splice(place, 1);
      }
    },
  },
  'refuses whoever asks for more than the lowered limit before its turn': {
    fails: ['semaphore/set-limit.yaml'],
    semaphore: class extends ModelSemaphore {
      override setLimit(limit: number) {
        super.setLimit(limit);
        for (const waiter of [...this.queue]) {
          if (waiter.permits > limit) waiter.refuse(new ModelError('invalid'));
        }
      }
    },
  },
  'removes the head instead of whoever gave up': {
    fails: ['semaphore/abort.yaml', 'semaphore/timeout.yaml', 'mutex/giving-up.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override leave(queue: Waiter[]) {
        queue.shift();
        this.serve();
      }
    },
  },
  'frees a permit twice when an abort follows the grant': {
    fails: ['semaphore/abort.yaml', 'semaphore/race.yaml', 'mutex/giving-up.yaml'],
    semaphore: class extends ModelSemaphore {
      override async acquire(request: AcquireRequest): Promise<Guard> {
        const acquired = super.acquire(request);
        if (request.signal)
          request.signal.onabort = () => acquired.then((guard) => guard.release()).catch(() => {});
        return acquired;
      }
    },
  },
  'loses the permit when the abort comes right after the grant': {
    fails: ['semaphore/race.yaml', 'mutex/giving-up.yaml', 'keyed-semaphore/giving-up.yaml'],
    semaphore: class extends ModelSemaphore {
      override async acquire(request: AcquireRequest): Promise<Guard> {
        const guard = await super.acquire(request);
        request.signal?.throwIfAborted();
        return guard;
      }
    },
  },
  'waits although it was aborted before': {
    fails: ['semaphore/abort.yaml', 'mutex/giving-up.yaml', 'keyed-semaphore/giving-up.yaml'],
    semaphore: class extends ModelSemaphore {
      override acquire(request: AcquireRequest) {
        const { signal } = request.signal?.aborted ? new AbortController() : request;
        return super.acquire({ ...request, signal });
      }
    },
  },
  'rejects with an error of its own instead of the reason of the signal': {
    fails: ['semaphore/abort.yaml'],
    semaphore: class extends ModelSemaphore {
      override async acquire(request: AcquireRequest): Promise<Guard> {
        try {
          return await super.acquire(request);
        } catch (error) {
          throw error instanceof ModelError ? error : new ModelError('aborted');
        }
      }
    },
  },
  'never times out': {
    fails: ['semaphore/timeout.yaml', 'semaphore/drain.yaml', 'mutex/giving-up.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override wait(
        { signal }: WaitRequest,
        queue: Waiter[],
        what: Pick<Waiter, 'permits' | 'priority' | 'owner'>,
      ) {
        return super.wait({ signal }, queue, what);
      }
    },
  },
  'takes a timeout of 0 for none': {
    fails: ['semaphore/timeout.yaml', 'semaphore/drain.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override wait(
        { signal, timeout }: WaitRequest,
        queue: Waiter[],
        what: Pick<Waiter, 'permits' | 'priority' | 'owner'>,
      ) {
        return super.wait(timeout ? { signal, timeout } : { signal }, queue, what);
      }
    },
  },
  'refuses a timeout of 0 even when a permit is free': {
    fails: ['semaphore/timeout.yaml'],
    semaphore: class extends ModelSemaphore {
      override async acquire(request: AcquireRequest): Promise<Guard> {
        if (request.timeout === 0) throw new ModelError('timeout');
        return super.acquire(request);
      }
    },
  },
  'leaves the timer running after a grant': {
    fails: ['semaphore/timeout.yaml', 'semaphore/close.yaml', 'mutex/giving-up.yaml'],
    semaphore: class extends ModelSemaphore {
      override acquire(request: AcquireRequest) {
        if (request.timeout) this.clock.start(request.timeout, () => {});
        return super.acquire(request);
      }
    },
  },
  'leaves a listener on the signal after a grant': {
    fails: ['semaphore/exclusion.yaml', 'mutex/exclusion.yaml', 'keyed-mutex/keys.yaml'],
    semaphore: class extends ModelSemaphore {
      override acquire(request: AcquireRequest) {
        request.signal?.addEventListener('abort', () => {});
        return super.acquire(request);
      }
    },
  },
  'releases once more with every call': {
    fails: ['semaphore/release.yaml', 'mutex/release.yaml', 'keyed-semaphore/keys.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override take(permits: number, owner: string | undefined) {
        super.take(permits, owner);
        return { release: () => this.giveBack(permits) };
      }
    },
  },
  'lets a try overtake those who wait': {
    fails: ['semaphore/try-acquire.yaml'],
    semaphore: class extends ModelSemaphore {
      override tryAcquire({ permits = 1, owner }: TryRequest) {
        if (this.end || permits < 1 || permits > this.limit) return super.tryAcquire({ permits });
        return this.fits(permits) ? this.take(permits, owner) : undefined;
      }
    },
  },
  'lets a try in after a close': {
    fails: ['semaphore/close.yaml', 'mutex/closing.yaml', 'keyed-semaphore/closing.yaml'],
    semaphore: class extends ModelSemaphore {
      override tryAcquire({ permits = 1, owner }: TryRequest) {
        return this.end ? this.take(permits, owner) : super.tryAcquire({ permits });
      }
    },
  },
  'forgets the waiters when it is closed': {
    fails: ['semaphore/close.yaml', 'mutex/closing.yaml', 'keyed-semaphore/closing.yaml'],
    semaphore: class extends ModelSemaphore {
      override close(reason: unknown = new ModelError('closed')) {
        this.end = { reason };
        this.queue = [];
      }
    },
  },
  'lets a small waiter in while it refuses the large one at a close': {
    fails: ['semaphore/close.yaml'],
    semaphore: class extends ModelSemaphore {
      override close(reason: unknown = new ModelError('closed')) {
        this.end ??= { reason };
        for (const waiter of [...this.queue]) waiter.refuse(reason);
      }
    },
  },
  'takes the permits away from the holders at a close': {
    fails: ['semaphore/close.yaml', 'mutex/closing.yaml'],
    semaphore: class extends ModelSemaphore {
      override close(reason?: unknown) {
        super.close(reason);
        this.held = 0;
      }
    },
  },
  'lets the last close decide': {
    fails: ['semaphore/close.yaml'],
    semaphore: class extends ModelSemaphore {
      override close(reason?: unknown) {
        this.end = undefined;
        super.close(reason);
      }
    },
  },
  'forgets the reason of a close': {
    fails: ['semaphore/close.yaml', 'mutex/closing.yaml', 'keyed-semaphore/closing.yaml'],
    semaphore: class extends ModelSemaphore {
      override close() {
        super.close();
      }
    },
  },
  'lets whoever comes after a close wait': {
    fails: ['semaphore/close.yaml', 'mutex/closing.yaml', 'keyed-mutex/keys.yaml'],
    semaphore: class extends ModelSemaphore {
      override acquire(request: AcquireRequest) {
        return this.end ? new Promise<Guard>(() => {}) : super.acquire(request);
      }
    },
  },
  'wakes nobody when the limit is raised': {
    fails: ['semaphore/set-limit.yaml'],
    semaphore: class extends ModelSemaphore {
      override setLimit(limit: number) {
        if (limit > this.limit) this.limit = limit;
        else super.setLimit(limit);
      }
    },
  },
  'lets a waiter wait for more than the lowered limit': {
    fails: ['semaphore/set-limit.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override serve() {
        if ((this.queue[0]?.permits ?? 0) <= this.limit) super.serve();
      }
    },
  },
  'refuses in a pause whoever asks for permits': {
    fails: ['semaphore/set-limit.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override get most() {
        return this.limit;
      }
    },
  },
  'lets one in during a pause': {
    fails: ['semaphore/set-limit.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override fits(permits: number) {
        return this.held + permits <= Math.max(this.limit, 1);
      }
    },
  },
  'counts available permits below 0': {
    fails: ['semaphore/set-limit.yaml'],
    semaphore: class extends ModelSemaphore {
      override observe() {
        return { ...super.observe(), available: this.limit - this.held };
      }
    },
  },
  'changes the limit before it looks at it': {
    fails: ['semaphore/bad-input.yaml'],
    semaphore: class extends ModelSemaphore {
      override setLimit(limit: number) {
        this.limit = limit;
        super.setLimit(limit);
      }
    },
  },
  'waits for more permits than there are': {
    fails: ['semaphore/bad-input.yaml'],
    semaphore: class extends ModelSemaphore {
      override acquire(request: AcquireRequest) {
        const tooMany = (request.permits ?? 1) > this.limit;
        return tooMany ? new Promise<Guard>(() => {}) : super.acquire(request);
      }
    },
  },
  'accepts any number': {
    fails: ['semaphore/bad-input.yaml'],
    semaphore: class extends ModelSemaphore {
      constructor(...[limit, clock]: ConstructorParameters<typeof ModelSemaphore>) {
        super(Number.isSafeInteger(limit) && limit > 0 ? limit : 1, clock);
      }
    },
  },
  'ends a drain while permits are held': {
    fails: ['semaphore/drain.yaml', 'mutex/closing.yaml'],
    semaphore: class extends ModelSemaphore {
      override async drain(request: WaitRequest) {
        if (this.queue.length > 0) await super.drain(request);
      }
    },
  },
  'ends a drain while somebody waits': {
    fails: ['semaphore/drain.yaml', 'mutex/closing.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override giveBack(permits: number) {
        if (this.held === permits)
          for (const drain of this.drains.splice(0)) drain.grant(undefined);
        super.giveBack(permits);
      }
    },
  },
  'ends only one drain': {
    fails: ['semaphore/drain.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override serve() {
        const later = this.drains.splice(1);
        super.serve();
        this.drains.push(...later);
      }
    },
  },
  'cannot abort a drain': {
    fails: ['semaphore/drain.yaml', 'mutex/closing.yaml'],
    semaphore: class extends ModelSemaphore {
      override drain(request: WaitRequest) {
        return super.drain({ ...request, signal: new AbortController().signal });
      }
    },
  },
  'does not look at the owner': {
    fails: ['mutex/owner.yaml', 'keyed-mutex/keys.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override checkOwner() {}
    },
  },
  'remembers the owner after the release': {
    fails: ['mutex/owner.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override giveBack(permits: number) {
        const { owner } = this;
        super.giveBack(permits);
        if (this.held === 0) this.owner = owner;
      }
    },
  },
  'refuses an owner that only waits': {
    fails: ['mutex/owner.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override checkOwner(owner: string | undefined) {
        super.checkOwner(owner);
        const waits = this.queue.some((waiter) => waiter.owner === owner);
        if (owner !== undefined && waits) throw new ModelError('reentrant');
      }
    },
  },
  'keeps the entry of an unused key': {
    fails: ['keyed-semaphore/keys.yaml', 'keyed-semaphore/giving-up.yaml', 'keyed-mutex/keys.yaml'],
    keyed: class extends ModelKeyed {
      protected override forget() {}
    },
  },
  'drops the entry of a key with every release': {
    fails: ['keyed-semaphore/keys.yaml', 'keyed-mutex/keys.yaml'],
    keyed: class extends ModelKeyed {
      protected override guard(key: string | undefined, guard: Guard) {
        return {
          release: () => {
            guard.release();
            this.entries.delete(key ?? '');
          },
        };
      }
    },
  },
  'lets an old guard drop a new entry of the same key': {
    fails: ['keyed-semaphore/keys.yaml', 'keyed-mutex/keys.yaml'],
    keyed: class extends ModelKeyed {
      protected override guard(key: string | undefined, guard: Guard) {
        let count = 0;
        return {
          release: () => {
            guard.release();
            if (++count > 1) this.entries.delete(key ?? '');
            this.forget(key);
          },
        };
      }
    },
  },
  'has one lock for all keys': {
    fails: ['keyed-semaphore/keys.yaml', 'keyed-semaphore/giving-up.yaml', 'keyed-mutex/keys.yaml'],
    keyed: class extends ModelKeyed {
      protected override entry() {
        return super.entry('x');
      }
    },
  },
  'closes only the keys in use': {
    fails: ['keyed-semaphore/closing.yaml', 'keyed-mutex/keys.yaml'],
    keyed: class extends ModelKeyed {
      override close(reason: unknown = new ModelError('closed')) {
        for (const entry of this.entries.values()) entry.close(reason);
      }
    },
  },
  'drains only the keys in use at that moment': {
    fails: ['keyed-semaphore/closing.yaml'],
    keyed: class extends ModelKeyed {
      override async drain(request: WaitRequest) {
        const [first] = this.entries.values();
        await first?.drain(request);
      }
    },
  },
};

/** The files in which an implementation fails at least one scenario. */
async function failingFiles(name: string, { semaphore, keyed }: Mutant): Promise<string[]> {
  const failing: string[] = [];
  for (const [path, file] of Object.entries(scenarioFiles)) {
    for (const scenario of file.scenarios) {
      if (scenario.needs?.includes('drop')) continue;
      const mutant = createModel(name, semaphore, keyed);
      const failed = await runScenario(file.primitive, scenario, mutant).then(
        () => false,
        () => true,
      );
      if (!failed) continue;
      failing.push(path);
      break;
    }
  }
  return failing;
}

const caught = new Set<string>();

describe('the scenarios catch a semaphore that', () => {
  test.each(Object.entries(mutants))('%s', async (name, mutant) => {
    const failing = await failingFiles(name, mutant);
    expect(failing).toEqual(expect.arrayContaining([...mutant.fails]));
    for (const path of mutant.fails) caught.add(path);
  });
});

test('every file of scenarios catches some mistake', () => {
  expect([...caught].sort()).toEqual(Object.keys(scenarioFiles).sort());
});
