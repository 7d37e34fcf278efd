/**
 * The reference model: the primitives, written to be obviously correct with plain arrays. It proves that the scenarios
 * are consistent, property tests compare implementations with it, and mutants of its methods prove that the scenarios
 * detect mistakes.
 */
import type { Implementation, Subject } from './implementation.js';
import { ModelBarrier, ModelLatch } from './models/barrier.js';
import { ModelChannel } from './models/channel.js';
import { ModelLockAll } from './models/lock-all.js';
import { ModelCondition, ModelNotify } from './models/notify.js';
import { ModelKeyedRwLock, ModelRwLock } from './models/rwlock.js';
import { ModelKeyed, ModelSemaphore } from './models/semaphore.js';
import { ModelBroadcast, ModelWatch } from './models/subscribers.js';
import { ModelClock, ModelError } from './models/waiting.js';
import type { Capability, Primitive, Setup } from './scenario.js';
import { nextMacrotask } from './settle.js';

export { ModelClock, ModelError, ModelSemaphore };

/** The classes of the model; a mutant replaces one of them. */
export const models = {
  semaphore: ModelSemaphore,
  keyed: ModelKeyed,
  lockAll: ModelLockAll,
  rwlock: ModelRwLock,
  keyedRwlock: ModelKeyedRwLock,
  notify: ModelNotify,
  condition: ModelCondition,
  barrier: ModelBarrier,
  latch: ModelLatch,
  channel: ModelChannel,
  broadcast: ModelBroadcast,
  watch: ModelWatch,
};

export type Models = typeof models;

const capabilities: readonly Capability[] = [
  'permits',
  'priority',
  'timeout',
  'signal',
  'try',
  'close',
  'drain',
  'resize',
  'reason',
  'owner',
  'bounded',
  'loose-numbers',
  'release-again',
  'phases',
  'uncounted',
  'receivers',
  'rendezvous',
  'when-full',
  'handed',
];

export interface ModelOptions {
  readonly name?: string;
  readonly models?: Partial<Models>;
  /** Whether readers and writers are granted strictly in the order of arrival. */
  readonly inOrder?: boolean;
}

export function createModel({
  name = 'model',
  models: given,
  inOrder = false,
}: ModelOptions = {}): Implementation {
  let clock = new ModelClock();
  const used = { ...models, ...given };
  const fairness = inOrder ? 'arrival' : 'phases';
  return {
    name,
    capabilities: new Set(capabilities.map((each) => (each === 'phases' ? fairness : each))),
    create(primitive: Primitive, setup: Setup): Subject {
      clock = new ModelClock();
      const { limit = 1, size = 1, count = 0, capacity = 0, value = 0 } = setup;
      switch (primitive) {
        case 'semaphore':
        case 'mutex':
          return new used.semaphore(limit, clock);
        case 'keyed-semaphore':
        case 'keyed-mutex':
          return new used.keyed(limit, clock, used.semaphore);
        case 'lock-all':
          return new used.lockAll(clock);
        case 'rwlock':
          return new used.rwlock(clock, inOrder);
        case 'keyed-rwlock':
          return new used.keyedRwlock(() => new used.rwlock(clock, inOrder));
        case 'notify':
          return new used.notify(clock);
        case 'condition':
          return new used.condition(clock, new used.semaphore(1, clock));
        case 'barrier':
          return new used.barrier(size, clock);
        case 'latch':
          return new used.latch(count, clock);
        case 'channel':
          return new used.channel(setup, clock, setup['when-full']);
        case 'broadcast':
          return new used.broadcast(capacity === 'unbounded' ? 0 : capacity, clock);
        case 'watch':
          return new used.watch(value, clock);
      }
    },
    settle: nextMacrotask,
    advance: (milliseconds) => clock.advance(milliseconds),
    timers: () => clock.size,
    kindOf: (error) => (error instanceof ModelError ? error.kind : undefined),
  };
}
