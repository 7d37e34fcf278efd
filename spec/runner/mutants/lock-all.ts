/** Mistakes in locking several keys. */
import type { TryRequest } from '../implementation.js';
import { ModelLockAll } from '../models/lock-all.js';
import type { Waiter } from '../models/waiting.js';
import type { Mutants } from './mutant.js';

export const lockAllMutants: Mutants = {
  'checks only the first key': {
    fails: ['lock-all/keys.yaml', 'lock-all/cancellation.yaml'],
    lockAll: class extends ModelLockAll {
      protected override mayGo(keys: readonly string[], taken: ReadonlySet<string>) {
        return super.mayGo(keys.slice(0, 1), taken);
      }
    },
  },
  'lets a later request overtake a waiter for several keys': {
    fails: ['lock-all/keys.yaml'],
    lockAll: class extends ModelLockAll {
      protected override mayGo(keys: readonly string[]) {
        return super.mayGo(keys, this.held);
      }
    },
  },
  'blocks requests for other keys while one waits': {
    fails: ['lock-all/keys.yaml'],
    lockAll: class extends ModelLockAll {
      protected override mayGo(keys: readonly string[], taken: ReadonlySet<string>) {
        return (
          super.mayGo(keys, this.held) && super.mayGo(keys, taken) && taken.size === this.held.size
        );
      }
    },
  },
  'releases only the first lock': {
    fails: ['lock-all/keys.yaml', 'lock-all/cancellation.yaml'],
    lockAll: class extends ModelLockAll {
      protected override giveBack(keys: readonly string[]) {
        super.giveBack(keys.slice(0, 1));
      }
    },
  },
  'releases the locks again with every call': {
    fails: ['lock-all/keys.yaml'],
    lockAll: class extends ModelLockAll {
      protected override take(keys: readonly string[]) {
        super.take(keys);
        return { release: () => this.giveBack(keys) };
      }
    },
  },
  'lets a try for several keys overtake waiters': {
    fails: ['lock-all/keys.yaml'],
    lockAll: class extends ModelLockAll {
      override tryAcquire({ keys = [] }: TryRequest) {
        return this.mayGo(keys, this.held) ? this.take(keys) : undefined;
      }
    },
  },
  'keeps a cancelled waiter in the queues of its keys': {
    fails: ['lock-all/cancellation.yaml'],
    lockAll: class extends ModelLockAll {
      protected override leave() {}
    },
  },
  'grants no waiter when it leaves several queues': {
    fails: ['lock-all/cancellation.yaml'],
    lockAll: class extends ModelLockAll {
      protected override leave(queue: Waiter[], waiter: Waiter) {
        const place = queue.indexOf(waiter);
        if (place >= 0) queue.splice(place, 1);
      }
    },
  },
  'forgets waiters for several keys at a close': {
    fails: ['lock-all/keys.yaml'],
    lockAll: class extends ModelLockAll {
      override close(reason?: unknown) {
        this.queue = [];
        super.close(reason);
      }
    },
  },
};
