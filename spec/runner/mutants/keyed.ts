/** Mistakes in primitives with an entry per key. */
import type { Guard, WaitRequest } from '../implementation.js';
import { ModelKeyed } from '../models/semaphore.js';
import { closed } from '../models/waiting.js';
import type { Mutants } from './mutant.js';

export const keyedMutants: Mutants = {
  'keeps the entry of an unused key': {
    fails: [
      'keyed-semaphore/keys.yaml',
      'keyed-semaphore/cancellation.yaml',
      'keyed-mutex/keys.yaml',
    ],
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
  'lets a released guard drop a new entry of the same key': {
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
    fails: [
      'keyed-semaphore/keys.yaml',
      'keyed-semaphore/cancellation.yaml',
      'keyed-mutex/keys.yaml',
    ],
    keyed: class extends ModelKeyed {
      protected override entry() {
        return super.entry('x');
      }
    },
  },
  'closes only the keys in use': {
    fails: ['keyed-semaphore/closing.yaml', 'keyed-mutex/keys.yaml'],
    keyed: class extends ModelKeyed {
      override close(reason: unknown = closed()) {
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
