/** Mistakes in a semaphore, and so in a mutex and in the keyed forms of both. */
import type { AcquireRequest, Guard, TryRequest, WaitRequest } from '../implementation.js';
import { ModelSemaphore } from '../models/semaphore.js';
import { closed, ModelError, type Waiter } from '../models/waiting.js';
import type { Mutants } from './mutant.js';

export const semaphoreMutants: Mutants = {
  'grants every request': {
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
  'serves the last waiter first': {
    fails: ['semaphore/fifo.yaml', 'mutex/exclusion.yaml', 'keyed-mutex/keys.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override insert(queue: Waiter[], waiter: Waiter) {
        queue.unshift(waiter);
      }
    },
  },
  'lets a small waiter overtake a large one': {
    fails: ['semaphore/fifo.yaml', 'semaphore/set-limit.yaml', 'keyed-semaphore/keys.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override serve() {
        this.queue.sort(
          (one, other) =>
            Number(this.fits(other.item.permits)) - Number(this.fits(one.item.permits)),
        );
        super.serve();
      }
    },
  },
  'lets a new request take a permit granted to a waiter': {
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
    fails: ['semaphore/priority.yaml', 'mutex/exclusion.yaml', 'keyed-semaphore/cancellation.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override insert(queue: Waiter[], waiter: Waiter) {
        queue.push(waiter);
      }
    },
  },
  'serves the last waiter first among equal priorities': {
    fails: ['semaphore/priority.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override insert(queue: Waiter[], waiter: Waiter) {
        if (waiter.priority === 0) return super.insert(queue, waiter);
        const place = queue.findIndex((other) => other.priority <= waiter.priority);
        queue.splice(place < 0 ? queue.length : place, 0, waiter);
      }
    },
  },
  'keeps a cancelled waiter in the queue, where it takes a permit': {
    fails: ['semaphore/abort.yaml', 'semaphore/timeout.yaml', 'mutex/cancellation.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override leave() {}
    },
  },
  'grants no waiter when a large head is cancelled': {
    fails: ['semaphore/abort.yaml', 'semaphore/timeout.yaml', 'keyed-semaphore/cancellation.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override leave(queue: Waiter[], waiter: Waiter) {
        const place = queue.indexOf(waiter);
        if (place >= 0) queue.splice(place, 1);
      }
    },
  },
  'refuses a request above the lowered limit before its turn': {
    fails: ['semaphore/set-limit.yaml'],
    semaphore: class extends ModelSemaphore {
      override setLimit(limit: number) {
        super.setLimit(limit);
        for (const waiter of [...this.queue]) {
          if (waiter.item.permits > limit) waiter.refuse(new ModelError('invalid'));
        }
      }
    },
  },
  'removes the head instead of the cancelled waiter': {
    fails: ['semaphore/abort.yaml', 'semaphore/timeout.yaml', 'mutex/cancellation.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override leave(queue: Waiter[]) {
        queue.shift();
        this.serve();
      }
    },
  },
  'frees a permit twice when an abort follows the grant': {
    fails: ['semaphore/abort.yaml', 'semaphore/race.yaml', 'mutex/cancellation.yaml'],
    semaphore: class extends ModelSemaphore {
      override async acquire(request: AcquireRequest): Promise<Guard> {
        const acquired = super.acquire(request);
        if (request.signal)
          request.signal.onabort = () => acquired.then((guard) => guard.release()).catch(() => {});
        return acquired;
      }
    },
  },
  'leaves the timer running after a grant': {
    fails: ['semaphore/timeout.yaml', 'semaphore/close.yaml', 'mutex/cancellation.yaml'],
    semaphore: class extends ModelSemaphore {
      override acquire(request: AcquireRequest) {
        if (request.timeout) this.clock.start(request.timeout, () => {});
        return super.acquire(request);
      }
    },
  },
  'releases again with every call': {
    fails: ['semaphore/release.yaml', 'mutex/release.yaml', 'keyed-semaphore/keys.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override take(permits: number, owner: string | undefined) {
        super.take(permits, owner);
        return { release: () => this.giveBack(permits) };
      }
    },
  },
  'lets a try overtake waiters': {
    fails: ['semaphore/try-acquire.yaml'],
    semaphore: class extends ModelSemaphore {
      override tryAcquire({ permits = 1, owner }: TryRequest) {
        if (this.end || permits < 1 || permits > this.limit) return super.tryAcquire({ permits });
        return this.fits(permits) ? this.take(permits, owner) : undefined;
      }
    },
  },
  'grants a try after a close': {
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
      override close(reason: unknown = closed()) {
        this.end = { reason };
        this.queue = [];
      }
    },
  },
  'grants a small waiter while it refuses the large one at a close': {
    fails: ['semaphore/close.yaml'],
    semaphore: class extends ModelSemaphore {
      override close(reason: unknown = closed()) {
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
  'lets a request wait after a close': {
    fails: ['semaphore/close.yaml', 'mutex/closing.yaml', 'keyed-mutex/keys.yaml'],
    semaphore: class extends ModelSemaphore {
      override acquire(request: AcquireRequest) {
        return this.end ? new Promise<Guard>(() => {}) : super.acquire(request);
      }
    },
  },
  'grants no waiter when the limit is raised': {
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
        if ((this.queue[0]?.item.permits ?? 0) <= this.limit) super.serve();
      }
    },
  },
  'refuses requests while the limit is 0': {
    fails: ['semaphore/set-limit.yaml'],
    semaphore: class extends ModelSemaphore {
      protected override get most() {
        return this.limit;
      }
    },
  },
  'grants one permit while the limit is 0': {
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
  'changes the limit before it checks it': {
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
  'ends a drain while a request waits': {
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
  'ignores the owner': {
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
        const waits = this.queue.some((waiter) => waiter.item.owner === owner);
        if (owner !== undefined && waits) throw new ModelError('reentrant');
      }
    },
  },
};
