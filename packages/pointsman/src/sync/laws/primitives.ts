/**
 * The primitives as the laws of constructors and methods see them.
 *
 * Invariant: each class of the public API, except the errors, is a row (`detached.test.ts` checks it).
 */
import {
  Barrier,
  Broadcast,
  Channel,
  Condition,
  KeyedMutex,
  KeyedRwLock,
  KeyedSemaphore,
  Latch,
  Limiter,
  Mutex,
  Notify,
  RwLock,
  Semaphore,
  Watch,
} from '../index.js';

/** The class of a primitive, with what its constructor takes. */
export interface Primitive {
  create(options?: never): object;
  /** The names of its options, if it has any. */
  readonly options?: readonly string[];
  /** Its first parameter, if that is a number: an integer >= `min`. */
  readonly number?: {
    readonly name: string;
    readonly min: number;
    readonly mayBeInfinite?: boolean;
    create(value: never): object;
  };
}

const queueOptions = ['name', 'maxWaiting'];
const nameOption = ['name'];

/** By the names of their classes. */
export const primitives: Record<string, Primitive> = {
  Barrier: {
    create: (options) => new Barrier(2, options),
    options: nameOption,
    number: { name: 'size', min: 1, create: (value) => new Barrier(value) },
  },
  Broadcast: {
    create: (options) => new Broadcast(1, options),
    options: nameOption,
    number: { name: 'capacity', min: 1, create: (value) => new Broadcast(value) },
  },
  Channel: {
    create: (options) => new Channel(1, options),
    options: ['name', 'whenFull'],
    number: {
      name: 'capacity',
      min: 0,
      mayBeInfinite: true,
      create: (value) => new Channel(value),
    },
  },
  Condition: { create: () => new Condition(new Mutex()) },
  KeyedMutex: { create: (options) => new KeyedMutex(options), options: queueOptions },
  KeyedRwLock: { create: (options) => new KeyedRwLock(options), options: queueOptions },
  KeyedSemaphore: {
    create: (options) => new KeyedSemaphore(1, options),
    options: queueOptions,
    number: {
      name: 'limit',
      min: 1,
      mayBeInfinite: true,
      create: (value) => new KeyedSemaphore(value),
    },
  },
  Latch: {
    create: (options) => new Latch(1, options),
    options: nameOption,
    number: { name: 'count', min: 0, create: (value) => new Latch(value) },
  },
  // Its options have a test of their own: they are required.
  Limiter: { create: () => new Limiter({ concurrency: 1 }) },
  Mutex: { create: (options) => new Mutex(options), options: queueOptions },
  Notify: { create: (options) => new Notify(options), options: nameOption },
  RwLock: { create: (options) => new RwLock(options), options: queueOptions },
  Semaphore: {
    create: (options) => new Semaphore(1, options),
    options: queueOptions,
    number: { name: 'limit', min: 0, mayBeInfinite: true, create: (value) => new Semaphore(value) },
  },
  Watch: { create: (options) => new Watch(1, options), options: nameOption },
};
