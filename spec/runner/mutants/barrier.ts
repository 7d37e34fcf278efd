/** Mistakes in a barrier and a latch. */
import type { WaitRequest } from '../implementation.js';
import { ModelBarrier, ModelLatch } from '../models/barrier.js';
import type { ModelClock, Waiter } from '../models/waiting.js';
import type { Mutants } from './mutant.js';

export const barrierMutants: Mutants = {
  'never waits': {
    fails: ['barrier/rounds.yaml', 'barrier/cancellation.yaml'],
    barrier: class extends ModelBarrier {
      override async wait() {
        return undefined;
      }
    },
  },
  'makes the first arrival the leader': {
    fails: ['barrier/rounds.yaml', 'barrier/cancellation.yaml'],
    barrier: class extends ModelBarrier {
      protected override serve() {
        if (this.queue.length < this.size) return;
        const round = this.queue.splice(0, this.size);
        round.shift()?.grant('leader');
        for (const waiter of round) waiter.grant(undefined);
      }
    },
  },
  'stays open after the first round': {
    fails: ['barrier/rounds.yaml'],
    barrier: class extends ModelBarrier {
      protected isOpen = false;
      protected override serve() {
        this.isOpen ||= this.queue.length >= this.size;
        if (!this.isOpen) return;
        const last = this.queue.pop();
        for (const waiter of this.queue.splice(0)) waiter.grant(undefined);
        last?.grant('leader');
      }
    },
  },
  'counts a cancelled waiter': {
    fails: ['barrier/cancellation.yaml'],
    barrier: class extends ModelBarrier {
      protected override leave() {}
    },
  },
  'counts an operation aborted before it began': {
    fails: ['barrier/cancellation.yaml'],
    barrier: class extends ModelBarrier {
      override async wait(request: WaitRequest) {
        if (request.signal?.aborted) void super.wait({});
        return super.wait(request);
      }
      override observe() {
        return {};
      }
    },
  },
  'accepts any number for a barrier': {
    fails: ['barrier/rounds.yaml'],
    barrier: class extends ModelBarrier {
      constructor(size: number, clock: ModelClock) {
        super(Math.ceil(size) || 1, clock);
      }
    },
  },
  'opens with the first count': {
    fails: ['latch/opening.yaml', 'latch/cancellation.yaml'],
    latch: class extends ModelLatch {
      protected override serve() {
        for (const waiter of this.queue.splice(0)) waiter.grant();
      }
    },
  },
  'opens for one waiter': {
    fails: ['latch/opening.yaml'],
    latch: class extends ModelLatch {
      protected override serve() {
        if (this.count === 0) this.queue.shift()?.grant();
      }
    },
  },
  'counts below 0': {
    fails: ['latch/opening.yaml'],
    latch: class extends ModelLatch {
      override countDown(by = 1) {
        super.countDown(Math.min(by, this.count));
        this.count -= Math.max(0, by - this.count);
      }
      override observe() {
        return { ...super.observe(), count: this.count };
      }
    },
  },
  'accepts any count': {
    fails: ['latch/opening.yaml'],
    latch: class extends ModelLatch {
      override countDown(by = 1) {
        super.countDown(Math.max(0, Math.trunc(by)));
      }
    },
  },
  'lowers the count for a cancelled waiter': {
    fails: ['latch/cancellation.yaml'],
    latch: class extends ModelLatch {
      protected override leave(queue: Waiter[], waiter: Waiter) {
        super.leave(queue, waiter);
        if (this.count > 0) this.countDown();
      }
    },
  },
  'waits although the latch is open': {
    fails: ['latch/opening.yaml', 'latch/cancellation.yaml'],
    latch: class extends ModelLatch {
      override wait(request: WaitRequest) {
        if (this.count > 0 || request.signal?.aborted) return super.wait(request);
        return new Promise<void>(() => {});
      }
    },
  },
};
