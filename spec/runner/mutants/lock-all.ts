/** Mistakes in taking the locks of several keys. */
import type { TryRequest } from '../implementation.js';
import { ModelLockAll } from '../models/lock-all.js';
import type { Waiter } from '../models/waiting.js';
import type { Mutants } from './mutant.js';

export const lockAllMutants: Mutants = {
  'looks at the first key alone': {
    fails: ['lock-all/keys.yaml', 'lock-all/giving-up.yaml'],
    lockAll: class extends ModelLockAll {
      protected override mayGo(keys: readonly string[], taken: ReadonlySet<string>) {
        return super.mayGo(keys.slice(0, 1), taken);
      }
    },
  },
  'lets others pass who waits for several keys': {
    fails: ['lock-all/keys.yaml'],
    lockAll: class extends ModelLockAll {
      protected override mayGo(keys: readonly string[]) {
        return super.mayGo(keys, this.held);
      }
    },
  },
  'keeps all others out while one waits for several keys': {
    fails: ['lock-all/keys.yaml'],
    lockAll: class extends ModelLockAll {
      protected override mayGo(keys: readonly string[], taken: ReadonlySet<string>) {
        return (
          super.mayGo(keys, this.held) && super.mayGo(keys, taken) && taken.size === this.held.size
        );
      }
    },
  },
  'gives back the first lock alone': {
    fails: ['lock-all/keys.yaml', 'lock-all/giving-up.yaml'],
    lockAll: class extends ModelLockAll {
      protected override giveBack(keys: readonly string[]) {
        super.giveBack(keys.slice(0, 1));
      }
    },
  },
  'gives the locks back once more with every call': {
    fails: ['lock-all/keys.yaml'],
    lockAll: class extends ModelLockAll {
      protected override take(keys: readonly string[]) {
        super.take(keys);
        return { release: () => this.giveBack(keys) };
      }
    },
  },
  'lets a try for several keys pass those who wait': {
    fails: ['lock-all/keys.yaml'],
    lockAll: class extends ModelLockAll {
      override tryAcquire({ keys = [] }: TryRequest) {
        return this.mayGo(keys, this.held) ? this.take(keys) : undefined;
      }
    },
  },
  'keeps a place at the keys of whoever gave up': {
    fails: ['lock-all/giving-up.yaml'],
    lockAll: class extends ModelLockAll {
      protected override leave() {}
    },
  },
  'wakes nobody when it leaves several lines': {
    fails: ['lock-all/giving-up.yaml'],
    lockAll: class extends ModelLockAll {
      protected override leave(queue: Waiter[], waiter: Waiter) {
        const place = queue.indexOf(waiter);
        if (place >= 0) queue.splice(place, 1);
      }
    },
  },
  'forgets at a close who waits for several keys': {
    fails: ['lock-all/keys.yaml'],
    lockAll: class extends ModelLockAll {
      override close(reason?: unknown) {
        this.queue = [];
        super.close(reason);
      }
    },
  },
};
