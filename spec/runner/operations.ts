/**
 * Which operations each primitive has, and what each does to the actor that begins it. This table
 * is all that the runner knows of a primitive.
 */
import type { OperationName, Primitive } from './scenario.js';

/** What an actor holds, by the list of a state that names it. A subscriber is in none. */
export type Hold = 'holding' | 'reading' | 'writing' | 'subscribed';

/** Why an actor is not idle. */
export type Business = 'waiting' | 'draining' | 'trying';

export interface Rule {
  /**
   * What the actor must be before. `free`: it does nothing and holds nothing. `idle`: it does
   * nothing. `any`: it does no matter what. Else: it does nothing and holds this.
   */
  readonly begins: 'free' | 'idle' | 'any' | Hold;
  /** What it is until the operation ends. Without it the operation only acts, at once. */
  readonly while?: Business;
  /** What it holds when the operation was granted. */
  readonly gives?: Hold;
  /** Whether it is told something, which `received` then says. */
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

/** A receiver is what a subscriber holds; to release it is to close it. */
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
    // Whatever becomes of it, the actor then holds the lock again.
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
