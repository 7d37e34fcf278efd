/** The operations of each primitive and their effect on the actor: all that the runner knows of a primitive. */
import type { OperationName, Primitive } from './scenario.js';

/** What an actor holds: the list of the expected state that contains it. A subscriber is in no list. */
export type Hold = 'holding' | 'reading' | 'writing' | 'subscribed';

/** Why an actor is not idle. */
export type Business = 'waiting' | 'draining' | 'trying';

export interface Rule {
  /** The state that the actor must be in. `free`: idle, holds nothing. `idle`. `any`. Otherwise: idle, holds this. */
  readonly begins: 'free' | 'idle' | 'any' | Hold;
  /** The actor's state until the operation ends; absent for an operation that ends at once. */
  readonly while?: Business;
  /** What the actor holds after the grant. */
  readonly gives?: Hold;
  /** Whether the actor receives a value, which `received` then contains. */
  readonly tells?: true;
}

type Rules = Partial<Record<OperationName, Rule>>;

const acts: Rule = { begins: 'any' };
const waits: Rule = { begins: 'idle', while: 'waiting' };
const receives: Rule = { ...waits, tells: true };
const triesToReceive: Rule = { begins: 'idle', while: 'trying', tells: true };

const acquires = (gives: Hold): Rule => ({ begins: 'free', while: 'waiting', gives });
const tries = (gives: Hold): Rule => ({ begins: 'free', while: 'trying', gives });
const releases = (begins: Hold): Rules => ({ release: { begins }, 'release-again': acts });

const lock: Rules = {
  acquire: acquires('holding'),
  'try-acquire': tries('holding'),
  ...releases('holding'),
  abort: acts,
  drain: { begins: 'free', while: 'draining' },
  close: acts,
};

const keyedRwLock: Rules = {
  read: acquires('reading'),
  write: acquires('writing'),
  'try-read': tries('reading'),
  'try-write': tries('writing'),
  downgrade: { begins: 'writing', while: 'trying', gives: 'reading' },
  release: { begins: 'idle' },
  'release-again': acts,
  abort: acts,
  close: acts,
};

/** A subscriber holds a receiver; releasing it closes it. */
const subscribes: Rules = {
  subscribe: tries('subscribed'),
  send: waits,
  ...releases('subscribed'),
  abort: acts,
  close: acts,
};

export const rules: Record<Primitive, Rules> = {
  semaphore: { ...lock, 'set-limit': acts },
  mutex: lock,
  'keyed-semaphore': lock,
  'keyed-mutex': lock,
  'lock-all': {
    acquire: acquires('holding'),
    'try-acquire': tries('holding'),
    ...releases('holding'),
    abort: acts,
    close: acts,
  },
  rwlock: { ...keyedRwLock, drain: { begins: 'free', while: 'draining' } },
  'keyed-rwlock': keyedRwLock,
  notify: { notified: waits, 'notify-one': acts, 'notify-waiters': acts, abort: acts },
  condition: {
    acquire: acquires('holding'),
    ...releases('holding'),
    // However the wait ends, the actor holds the lock again.
    wait: { begins: 'holding', while: 'waiting' },
    'notify-one': acts,
    'notify-waiters': acts,
    abort: acts,
  },
  barrier: { wait: receives, abort: acts },
  latch: { wait: waits, 'count-down': acts, abort: acts },
  channel: {
    send: waits,
    'try-send': { begins: 'idle', while: 'trying' },
    receive: receives,
    'receive-many': receives,
    'try-receive': triesToReceive,
    abort: acts,
    close: acts,
    discard: acts,
  },
  broadcast: {
    ...subscribes,
    receive: { ...receives, begins: 'subscribed' },
    'try-receive': { ...triesToReceive, begins: 'subscribed' },
  },
  watch: { ...subscribes, changed: { ...receives, begins: 'subscribed' } },
};
