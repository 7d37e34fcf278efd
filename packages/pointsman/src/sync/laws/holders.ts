/**
 * The primitives that grant permits, as the laws see them, each with exclusive permits.
 *
 * Invariant: each primitive of the public API that grants permits is a row.
 */
import { asyncDispose } from '../dispose.js';
import {
  KeyedMutex,
  KeyedRwLock,
  KeyedSemaphore,
  Limiter,
  Mutex,
  type Permit,
  RwLock,
  Semaphore,
  type WaitOptions,
} from '../index.js';

/** A primitive with exclusive permits. */
export interface Holder {
  readonly object: {
    readonly closed: boolean;
    readonly waiting: number;
    drain(options?: WaitOptions): Promise<void>;
    shutdown(options?: WaitOptions): Promise<void>;
    close(reason?: unknown): void;
    cancel(reason?: unknown): void;
    [asyncDispose](): Promise<void>;
  };
  request(options?: WaitOptions): Promise<Permit>;
  tries(options?: object): Permit | undefined;
  /** The number of waiting requests; one for several keys counts once. */
  waiting(): number;
  /** The names of the options of `tries`; absent if it has none. */
  readonly tryOptions?: readonly string[];
  run<T>(fn: () => T | PromiseLike<T>, options?: WaitOptions): Promise<T>;
}

const permitOptions = ['permits', 'priority'];

/** The primitives that grant permits, by name. */
export const holders: Record<string, (name?: string) => Holder> = {
  Semaphore(name) {
    const object = new Semaphore(1, { name });
    return {
      object,
      waiting: () => object.waiting,
      request: (options) => object.acquire(options),
      tries: (options) => object.tryAcquire(options),
      tryOptions: permitOptions,
      run: (fn, options) => object.run(fn, options),
    };
  },
  Mutex(name) {
    const object = new Mutex({ name });
    return {
      object,
      waiting: () => object.waiting,
      request: (options) => object.lock(options),
      tries: (options) => object.tryLock(options),
      tryOptions: ['owner'],
      run: (fn, options) => object.run(fn, options),
    };
  },
  RwLock(name) {
    const object = new RwLock({ name });
    return {
      object,
      waiting: () => object.waiting,
      request: (options) => object.write(options),
      tries: () => object.tryWrite(),
      run: (fn, options) => object.runWrite(fn, options),
    };
  },
  KeyedSemaphore(name) {
    const object = new KeyedSemaphore<string>(1, { name });
    return {
      object,
      waiting: () => object.waiting,
      request: (options) => object.acquire('key', options),
      tries: (options) => object.tryAcquire('key', options),
      tryOptions: permitOptions,
      run: (fn, options) => object.run('key', fn, options),
    };
  },
  KeyedMutex(name) {
    const object = new KeyedMutex<string>({ name });
    return {
      object,
      waiting: () => object.waiting,
      request: (options) => object.lock('key', options),
      tries: (options) => object.tryLock('key', options),
      tryOptions: ['owner'],
      run: (fn, options) => object.run('key', fn, options),
    };
  },
  'KeyedMutex, several keys'(name) {
    const object = new KeyedMutex<string>({ name });
    return {
      object,
      waiting: () => object.waitingFor('b'),
      request: (options) => object.lockAll(['a', 'b'], options),
      tries: (options) => object.tryLockAll(['a', 'b'], options),
      tryOptions: ['owner'],
      run: (fn, options) => object.runAll(['a', 'b'], fn, options),
    };
  },
  KeyedRwLock(name) {
    const object = new KeyedRwLock<string>({ name });
    return {
      object,
      waiting: () => object.waiting,
      request: (options) => object.write('key', options),
      tries: () => object.tryWrite('key'),
      run: (fn, options) => object.runWrite('key', fn, options),
    };
  },
  Limiter(name) {
    const object = new Limiter({ concurrency: 1, name });
    return {
      object,
      waiting: () => object.waiting,
      request: (options) => object.acquire(options),
      tries: (options) => object.tryAcquire(options),
      tryOptions: ['key', 'weight', 'priority'],
      run: (fn, options) => object.run(fn, options),
    };
  },
};
