/** Mistakes in notifications and conditions. */
import type { Guard, WaitRequest } from '../implementation.js';
import { ModelCondition, ModelLock, ModelNotify } from '../models/notify.js';
import type { Waiter } from '../models/waiting.js';
import type { Mutants } from './mutant.js';

export const notifyMutants: Mutants = {
  'stores no notification': {
    fails: ['notify/order.yaml', 'notify/cancellation.yaml'],
    notify: class extends ModelNotify {
      override notifyOne() {
        super.notifyOne();
        this.isKept = false;
      }
    },
  },
  'stores every notification': {
    fails: ['notify/order.yaml'],
    notify: class extends ModelNotify {
      protected kept = 0;
      override notifyOne() {
        this.kept += 1;
        this.serve();
      }
      protected override serve() {
        for (; this.kept > 0 && this.queue.length > 0; this.kept -= 1) this.queue.shift()?.grant();
      }
    },
  },
  'notifies the last waiter first': {
    fails: ['notify/order.yaml', 'notify/cancellation.yaml'],
    notify: class extends ModelNotify {
      protected override insert(queue: Waiter[], waiter: Waiter) {
        queue.unshift(waiter);
      }
    },
  },
  'notifies all instead of one': {
    fails: ['notify/order.yaml', 'notify/cancellation.yaml'],
    notify: class extends ModelNotify {
      override notifyOne() {
        if (this.queue.length > 0) this.notifyWaiters();
        else super.notifyOne();
      }
    },
  },
  'notifies one instead of all': {
    fails: ['notify/order.yaml'],
    notify: class extends ModelNotify {
      override notifyWaiters() {
        this.queue.shift()?.grant();
      }
    },
  },
  'stores a notification of all': {
    fails: ['notify/order.yaml'],
    notify: class extends ModelNotify {
      override notifyWaiters() {
        super.notifyWaiters();
        this.isKept = true;
      }
    },
  },
  'consumes the stored notification when it notifies all': {
    fails: ['notify/order.yaml'],
    notify: class extends ModelNotify {
      override notifyWaiters() {
        super.notifyWaiters();
        this.isKept = false;
      }
    },
  },
  'gives a notification to a cancelled waiter': {
    fails: ['notify/cancellation.yaml'],
    notify: class extends ModelNotify {
      protected override leave() {}
    },
  },
  'takes the stored notification although it was aborted before it began': {
    fails: ['notify/cancellation.yaml'],
    notify: class extends ModelNotify {
      override async notified(request: WaitRequest) {
        const { isKept } = this;
        this.isKept = false;
        request.signal?.throwIfAborted();
        this.isKept = isKept;
        return super.notified(request);
      }
    },
  },
  'keeps the lock while it waits': {
    fails: ['condition/waiting.yaml', 'condition/cancellation.yaml'],
    condition: class extends ModelCondition {
      override async wait(request: WaitRequest, held: Guard) {
        await super.wait(request, Object.assign(held, { release() {}, takeAgain() {} }));
      }
    },
  },
  'continues without the lock': {
    fails: ['condition/waiting.yaml', 'condition/cancellation.yaml'],
    condition: class extends ModelCondition {
      override async wait(request: WaitRequest, held: Guard) {
        await super.wait(request, Object.assign(held, { takeAgain() {} }));
      }
    },
  },
  'releases the lock before it waits': {
    fails: ['condition/waiting.yaml'],
    condition: class extends ModelCondition {
      override async wait(request: WaitRequest, held: Guard) {
        held.release();
        await undefined;
        return super.wait(request, held);
      }
    },
  },
  'queues for the lock only when it runs again': {
    fails: ['condition/waiting.yaml', 'condition/cancellation.yaml'],
    condition: class extends ModelCondition {
      override async acquire(request: WaitRequest) {
        return new (class extends ModelLock {
          override takeAgain() {
            this.taken = Promise.resolve().then(async () => {
              this.guard = await this.mutex.acquire({});
            });
          }
        })(this.mutex, await this.mutex.acquire(request));
      }
    },
  },
  'rejects at once when the wait is aborted, without the lock': {
    fails: ['condition/cancellation.yaml'],
    condition: class extends ModelCondition {
      protected override leave(queue: Waiter[], waiter: Waiter) {
        queue.splice(queue.indexOf(waiter), 1);
      }
    },
  },
  'releases the lock although it was aborted before it began': {
    fails: ['condition/cancellation.yaml'],
    condition: class extends ModelCondition {
      override async wait(request: WaitRequest, held: Guard) {
        const lock = held as ModelLock;
        if (request.signal?.aborted) {
          lock.release();
          lock.takeAgain();
          await lock.taken;
        }
        return super.wait(request, held);
      }
    },
  },
  'releases the lock with a timeout of 0': {
    fails: ['condition/cancellation.yaml'],
    condition: class extends ModelCondition {
      override wait(request: WaitRequest, held: Guard) {
        return super.wait(request.timeout === 0 ? { ...request, timeout: 1 } : request, held);
      }
    },
  },
  'wakes all waiters of a condition': {
    fails: ['condition/waiting.yaml', 'condition/cancellation.yaml'],
    condition: class extends ModelCondition {
      override notifyOne() {
        for (const waiter of this.queue.splice(0)) {
          waiter.item.takeAgain();
          waiter.grant();
        }
      }
    },
  },
};
