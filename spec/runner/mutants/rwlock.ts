/** Mistakes in a read-write lock and its keyed form. */
import type { Guard } from '../implementation.js';
import { type Mode, ModelKeyedRwLock, ModelRwLock } from '../models/rwlock.js';
import { ModelError, ModelGuard, type Waiter } from '../models/waiting.js';
import type { Mutants } from './mutant.js';

export const rwlockMutants: Mutants = {
  'grants one reader at a time': {
    fails: ['rwlock/exclusion.yaml', 'rwlock/fairness.yaml', 'rwlock/downgrade.yaml'],
    rwlock: class extends ModelRwLock {
      protected override fits() {
        return !this.isWriting && this.readers === 0;
      }
    },
  },
  'grants a writer beside readers': {
    fails: ['rwlock/exclusion.yaml', 'rwlock/fairness.yaml', 'rwlock/cancellation.yaml'],
    rwlock: class extends ModelRwLock {
      protected override fits() {
        return !this.isWriting;
      }
    },
  },
  'grants a writer when the first of several readers releases': {
    fails: ['rwlock/exclusion.yaml', 'rwlock/fairness.yaml'],
    rwlock: class extends ModelRwLock {
      protected override giveBack(mode: Mode) {
        if (mode === 'reading') this.readers = 1;
        super.giveBack(mode);
      }
    },
  },
  'lets readers overtake a waiting writer': {
    fails: ['rwlock/fairness.yaml', 'rwlock/cancellation.yaml', 'rwlock/downgrade.yaml'],
    rwlock: class extends ModelRwLock {
      protected override next() {
        const reader = this.queue.find(({ item }) => item === 'reading');
        return reader && this.fits('reading') ? reader : super.next();
      }
    },
  },
  'prefers writers when a writer releases': {
    fails: ['rwlock/fairness.yaml'],
    rwlock: class extends ModelRwLock {
      protected override endOfWriting() {
        this.isWriting = false;
        this.serve();
      }
    },
  },
  'grants all readers where the order of arrival counts': {
    fails: ['rwlock/fairness.yaml', 'rwlock/downgrade.yaml'],
    rwlock: class extends ModelRwLock {
      protected override endOfWriting() {
        this.isWriting = false;
        const readers = this.queue.filter(({ item }) => item === 'reading');
        for (const reader of readers) this.letIn(reader);
        this.serve();
      }
    },
  },
  'serves the last writer first': {
    fails: ['rwlock/fairness.yaml'],
    rwlock: class extends ModelRwLock {
      protected override insert(queue: Waiter[], waiter: Waiter) {
        queue.unshift(waiter);
      }
    },
  },
  'lets a try overtake a waiting writer': {
    fails: ['rwlock/fairness.yaml'],
    rwlock: class extends ModelRwLock {
      protected override tryToEnter(mode: Mode) {
        return !this.end && this.fits(mode) ? this.take(mode) : super.tryToEnter(mode);
      }
    },
  },
  'does not grant readers behind a cancelled writer': {
    fails: ['rwlock/cancellation.yaml'],
    rwlock: class extends ModelRwLock {
      protected override leave(queue: Waiter[], waiter: Waiter) {
        const place = queue.indexOf(waiter);
        if (place >= 0) queue.splice(place, 1);
      }
    },
  },
  'keeps a cancelled waiter in the queue': {
    fails: ['rwlock/cancellation.yaml', 'keyed-rwlock/keys.yaml'],
    rwlock: class extends ModelRwLock {
      protected override leave() {}
    },
  },
  'releases a reader again with every call': {
    fails: ['rwlock/exclusion.yaml'],
    rwlock: class extends ModelRwLock {
      protected override take(mode: Mode): Guard {
        super.take(mode);
        return { release: () => this.giveBack(mode) };
      }
    },
  },
  'grants a writer during a downgrade': {
    fails: ['rwlock/downgrade.yaml'],
    rwlock: class extends ModelRwLock {
      override downgrade(_: object, held: Guard) {
        held.release();
        return this.take('reading');
      }
    },
  },
  'grants no reader at a downgrade': {
    fails: ['rwlock/downgrade.yaml'],
    rwlock: class extends ModelRwLock {
      override downgrade(_: object, held: Guard) {
        (held as ModelGuard).released = true;
        this.isWriting = false;
        return this.take('reading');
      }
    },
  },
  'releases the reader with the old permit after a downgrade': {
    fails: ['rwlock/downgrade.yaml'],
    rwlock: class extends ModelRwLock {
      override downgrade(_: object, held: Guard) {
        super.downgrade(_, held);
        (held as ModelGuard).released = false;
        return new ModelGuard(() => this.giveBack('reading'));
      }
      protected override giveBack(mode: Mode) {
        super.giveBack(this.readers > 0 ? 'reading' : mode);
      }
    },
  },
  'closes for writers only': {
    fails: ['rwlock/closing.yaml', 'keyed-rwlock/keys.yaml'],
    rwlock: class extends ModelRwLock {
      override close(reason: unknown = new ModelError('closed')) {
        const readers = this.queue.filter(({ item }) => item === 'reading');
        this.queue = this.queue.filter(({ item }) => item === 'writing');
        super.close(reason);
        this.queue.push(...readers);
      }
    },
  },
  'forgets why the lock was closed': {
    fails: ['rwlock/closing.yaml'],
    rwlock: class extends ModelRwLock {
      override close() {
        super.close();
      }
    },
  },
  'ignores readers in a drain': {
    fails: ['rwlock/closing.yaml'],
    rwlock: class extends ModelRwLock {
      override async drain() {}
    },
  },
  'has one lock for readers and writers of all keys': {
    fails: ['keyed-rwlock/keys.yaml'],
    keyedRwlock: class extends ModelKeyedRwLock {
      protected override entry() {
        return super.entry('x');
      }
    },
  },
  'keeps the entry of an unused key of a read-write lock': {
    fails: ['keyed-rwlock/keys.yaml'],
    keyedRwlock: class extends ModelKeyedRwLock {
      protected override forget() {}
    },
  },
  'drops the entry of a key with its first reader': {
    fails: ['keyed-rwlock/keys.yaml'],
    keyedRwlock: class extends ModelKeyedRwLock {
      protected override forget(key: string) {
        if (!this.observe(key).writing) this.entries.delete(key);
      }
    },
  },
};
