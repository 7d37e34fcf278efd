/**
 * The primitives as the laws see them: every operation that waits, and every primitive that grants permits.
 *
 * Invariant: each operation of the public API that takes `WaitOptions` is a row, so that a law holds for all of them.
 */
import { asyncDispose } from '../dispose.js';
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
  type Permit,
  RwLock,
  Semaphore,
  select,
  type WaitOptions,
  Watch,
} from '../index.js';

/** An operation that has to wait. Each start is a wait of its own; its end leaves nothing held. */
export interface Wait {
  start(options?: WaitOptions): Promise<unknown>;
  /** Ends all waits with success. */
  serve(): void;
  /** Lets the next start succeed without waiting. */
  free?(): void;
  /** Ends all waits with this reason. */
  close?(reason: unknown): void;
  /** The number of waits, if the primitive reports it. */
  waiting?(): number;
}

const release = (permit: Permit) => permit.release();

/** Waits for what a permit holds. */
function behind(
  held: Permit | undefined,
  object: { readonly waiting: number; close(reason?: unknown): void },
  start: Wait['start'],
): Wait {
  const serve = () => held?.release();
  const close = (reason: unknown) => object.close(reason);
  return { start, serve, free: serve, close, waiting: () => object.waiting };
}

/** Waits that count as no requests, and that a close does not end. */
function draining(held: Permit | undefined, start: Wait['start']): Wait {
  const serve = () => held?.release();
  return { start, serve, free: serve };
}

/** A source whose next value never comes. */
function silentSource() {
  interface Next {
    resolve(result: IteratorResult<number>): void;
    reject(reason: unknown): void;
  }
  const done = { value: undefined, done: true } as const;
  const pending = new Set<Next>();
  return {
    [Symbol.asyncIterator]() {
      let own: Next;
      return {
        next: () =>
          new Promise<IteratorResult<number>>((resolve, reject) => {
            own = { resolve, reject };
            pending.add(own);
          }),
        async return() {
          pending.delete(own);
          return done;
        },
      };
    },
    finish() {
      for (const next of pending) next.resolve(done);
    },
    fail(reason: unknown) {
      for (const next of pending) next.reject(reason);
    },
    waiting: () => pending.size,
  };
}

/** The operations that wait, by name; each is made for this number of waits at once. */
export const waits: Record<string, (count: number) => Wait> = {
  'Semaphore.acquire'() {
    const semaphore = new Semaphore(1);
    const held = semaphore.tryAcquire();
    return behind(held, semaphore, (options) => semaphore.acquire(options).then(release));
  },
  'Semaphore.run'() {
    const semaphore = new Semaphore(1);
    const held = semaphore.tryAcquire();
    return behind(held, semaphore, (options) => semaphore.run(() => {}, options));
  },
  'Semaphore.drain'() {
    const semaphore = new Semaphore(1);
    return draining(semaphore.tryAcquire(), (options) => semaphore.drain(options));
  },
  'Mutex.lock'() {
    const mutex = new Mutex();
    const held = mutex.tryLock();
    return behind(held, mutex, (options) => mutex.lock(options).then(release));
  },
  'Mutex.lock with an owner'() {
    const mutex = new Mutex();
    const held = mutex.tryLock();
    return behind(held, mutex, (options) => mutex.lock({ ...options, owner: {} }).then(release));
  },
  'Mutex.run'() {
    const mutex = new Mutex();
    const held = mutex.tryLock();
    return behind(held, mutex, (options) => mutex.run(() => {}, options));
  },
  'Mutex.drain'() {
    const mutex = new Mutex();
    return draining(mutex.tryLock(), (options) => mutex.drain(options));
  },
  'RwLock.read'() {
    const lock = new RwLock();
    const held = lock.tryWrite();
    return behind(held, lock, (options) => lock.read(options).then(release));
  },
  'RwLock.write'() {
    const lock = new RwLock();
    const held = lock.tryRead();
    return behind(held, lock, (options) => lock.write(options).then(release));
  },
  'RwLock.runRead'() {
    const lock = new RwLock();
    const held = lock.tryWrite();
    return behind(held, lock, (options) => lock.runRead(() => {}, options));
  },
  'RwLock.runWrite'() {
    const lock = new RwLock();
    const held = lock.tryWrite();
    return behind(held, lock, (options) => lock.runWrite(() => {}, options));
  },
  'RwLock.drain'() {
    const lock = new RwLock();
    return draining(lock.tryRead(), (options) => lock.drain(options));
  },
  'KeyedSemaphore.acquire'() {
    const keyed = new KeyedSemaphore<string>(1);
    const held = keyed.tryAcquire('key');
    return behind(held, keyed, (options) => keyed.acquire('key', options).then(release));
  },
  'KeyedSemaphore.run'() {
    const keyed = new KeyedSemaphore<string>(1);
    const held = keyed.tryAcquire('key');
    return behind(held, keyed, (options) => keyed.run('key', () => {}, options));
  },
  'KeyedSemaphore.drain'() {
    const keyed = new KeyedSemaphore<string>(1);
    return draining(keyed.tryAcquire('key'), (options) => keyed.drain(options));
  },
  'KeyedMutex.lock'() {
    const keyed = new KeyedMutex<string>();
    const held = keyed.tryLock('key');
    return behind(held, keyed, (options) => keyed.lock('key', options).then(release));
  },
  'KeyedMutex.run'() {
    const keyed = new KeyedMutex<string>();
    const held = keyed.tryLock('key');
    return behind(held, keyed, (options) => keyed.run('key', () => {}, options));
  },
  'KeyedMutex.lockAll'() {
    const keyed = new KeyedMutex<string>();
    const held = keyed.tryLock('b');
    const wait = behind(held, keyed, (options) =>
      keyed.lockAll(['a', 'b'], options).then((locks) => locks.release()),
    );
    // A request counts once for each of its keys.
    return { ...wait, waiting: () => keyed.waitingFor('b') };
  },
  'KeyedMutex.runAll'() {
    const keyed = new KeyedMutex<string>();
    const held = keyed.tryLock('b');
    const wait = behind(held, keyed, (options) => keyed.runAll(['a', 'b'], () => {}, options));
    return { ...wait, waiting: () => keyed.waitingFor('b') };
  },
  'KeyedMutex.drain'() {
    const keyed = new KeyedMutex<string>();
    return draining(keyed.tryLock('key'), (options) => keyed.drain(options));
  },
  'KeyedRwLock.read'() {
    const keyed = new KeyedRwLock<string>();
    const held = keyed.tryWrite('key');
    return behind(held, keyed, (options) => keyed.read('key', options).then(release));
  },
  'KeyedRwLock.write'() {
    const keyed = new KeyedRwLock<string>();
    const held = keyed.tryRead('key');
    return behind(held, keyed, (options) => keyed.write('key', options).then(release));
  },
  'KeyedRwLock.drain'() {
    const keyed = new KeyedRwLock<string>();
    return draining(keyed.tryRead('key'), (options) => keyed.drain(options));
  },
  'Limiter.acquire'() {
    const limiter = new Limiter({ concurrency: 1 });
    const held = limiter.tryAcquire();
    return behind(held, limiter, (options) => limiter.acquire(options).then(release));
  },
  'Limiter.run'() {
    const limiter = new Limiter({ concurrency: 1 });
    const held = limiter.tryAcquire();
    return behind(held, limiter, (options) => limiter.run(() => {}, options));
  },
  'Limiter.drain'() {
    const limiter = new Limiter({ concurrency: 1 });
    return draining(limiter.tryAcquire(), (options) => limiter.drain(options));
  },
  'Notify.notified'() {
    const notify = new Notify();
    return {
      start: (options) => notify.notified(options),
      serve: () => notify.notifyWaiters(),
      free: () => notify.notifyOne(),
      waiting: () => notify.waiting,
    };
  },
  'Condition.wait'() {
    const mutex = new Mutex();
    const condition = new Condition(mutex);
    return {
      async start(options) {
        const lock = mutex.tryLock() ?? (await mutex.lock());
        try {
          await condition.wait(lock, options);
        } finally {
          lock.release();
        }
      },
      serve: () => condition.notifyAll(),
      close: (reason) => mutex.close(reason),
      waiting: () => condition.waiting,
    };
  },
  'Condition.waitFor'() {
    const mutex = new Mutex();
    const condition = new Condition(mutex);
    let ready = false;
    return {
      async start(options) {
        const lock = mutex.tryLock() ?? (await mutex.lock());
        try {
          await condition.waitFor(lock, () => ready, options);
        } finally {
          lock.release();
        }
      },
      serve() {
        ready = true;
        condition.notifyAll();
      },
      free() {
        ready = true;
      },
      close: (reason) => mutex.close(reason),
      waiting: () => condition.waiting,
    };
  },
  'Barrier.wait'(count) {
    const barrier = new Barrier(count + 1);
    return {
      start: (options) => barrier.wait(options),
      serve: () => void barrier.wait(),
      waiting: () => barrier.waiting,
    };
  },
  'Latch.wait'() {
    const latch = new Latch(1);
    const serve = () => latch.countDown();
    return {
      start: (options) => latch.wait(options),
      serve,
      free: serve,
      waiting: () => latch.waiting,
    };
  },
  'Channel.receive'() {
    const channel = new Channel<number>(1);
    return {
      start: (options) => channel.receive(options),
      serve() {
        while (channel.waitingReceivers > 0) channel.trySend(1);
      },
      free: () => void channel.trySend(1),
      close: (reason) => channel.close(reason),
      waiting: () => channel.waitingReceivers,
    };
  },
  'Channel.receiveMany'() {
    const channel = new Channel<number>(1);
    return {
      start: (options) => channel.receiveMany(3, options),
      serve() {
        while (channel.waitingReceivers > 0) channel.trySend(1);
      },
      free: () => void channel.trySend(1),
      close: (reason) => channel.close(reason),
      waiting: () => channel.waitingReceivers,
    };
  },
  'Channel.send'() {
    const channel = new Channel<number>(1);
    channel.trySend(1);
    return {
      start: (options) => channel.send(1, options),
      serve() {
        while (channel.waitingSenders > 0) channel.tryReceive();
      },
      free: () => void channel.tryReceive(),
      close: (reason) => channel.close(reason),
      waiting: () => channel.waitingSenders,
    };
  },
  'Channel.sendAll'() {
    const channel = new Channel<number>(1);
    channel.trySend(1);
    return {
      start: (options) => channel.sendAll([1], options),
      serve() {
        while (channel.waitingSenders > 0) channel.tryReceive();
      },
      free: () => void channel.tryReceive(),
      close: (reason) => channel.close(reason),
      waiting: () => channel.waitingSenders,
    };
  },
  'Channel.sendAll, waiting for its source'() {
    const source = silentSource();
    const channel = new Channel<number>(0);
    return {
      start: (options) => channel.sendAll(source, options),
      serve: source.finish,
      close: source.fail,
    };
  },
  'BroadcastReceiver.receive'(count) {
    const broadcast = new Broadcast<number>(1);
    const receiver = broadcast.subscribe();
    return {
      start: (options) => receiver.receive(options),
      serve() {
        for (let n = 0; n < count; n++) broadcast.send(n);
      },
      free: () => void broadcast.send(1),
      close: (reason) => broadcast.close(reason),
    };
  },
  'WatchReceiver.changed'() {
    const watch = new Watch(0);
    const receiver = watch.subscribe();
    const serve = () => watch.send(watch.value + 1);
    return {
      start: (options) => receiver.changed(options),
      serve,
      free: serve,
      close: (reason) => watch.close(reason),
    };
  },
  select() {
    const semaphore = new Semaphore(1);
    const held = semaphore.tryAcquire();
    return behind(held, semaphore, (options) =>
      select({ permit: (only) => semaphore.acquire(only), off: undefined }, options).then(
        ({ value }) => value.release(),
      ),
    );
  },
};

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
  tries(): Permit | undefined;
  run<T>(fn: () => T | PromiseLike<T>): Promise<T>;
}

/** The primitives that grant permits, by name. */
export const holders: Record<string, (name?: string) => Holder> = {
  Semaphore(name) {
    const object = new Semaphore(1, { name });
    return {
      object,
      request: (options) => object.acquire(options),
      tries: () => object.tryAcquire(),
      run: (fn) => object.run(fn),
    };
  },
  Mutex(name) {
    const object = new Mutex({ name });
    return {
      object,
      request: (options) => object.lock(options),
      tries: () => object.tryLock(),
      run: (fn) => object.run(fn),
    };
  },
  RwLock(name) {
    const object = new RwLock({ name });
    return {
      object,
      request: (options) => object.write(options),
      tries: () => object.tryWrite(),
      run: (fn) => object.runWrite(fn),
    };
  },
  KeyedSemaphore(name) {
    const object = new KeyedSemaphore<string>(1, { name });
    return {
      object,
      request: (options) => object.acquire('key', options),
      tries: () => object.tryAcquire('key'),
      run: (fn) => object.run('key', fn),
    };
  },
  KeyedMutex(name) {
    const object = new KeyedMutex<string>({ name });
    return {
      object,
      request: (options) => object.lock('key', options),
      tries: () => object.tryLock('key'),
      run: (fn) => object.run('key', fn),
    };
  },
  'KeyedMutex, several keys'(name) {
    const object = new KeyedMutex<string>({ name });
    return {
      object,
      request: (options) => object.lockAll(['a', 'b'], options),
      tries: () => object.tryLockAll(['a', 'b']),
      run: (fn) => object.runAll(['a', 'b'], fn),
    };
  },
  KeyedRwLock(name) {
    const object = new KeyedRwLock<string>({ name });
    return {
      object,
      request: (options) => object.write('key', options),
      tries: () => object.tryWrite('key'),
      run: (fn) => object.runWrite('key', fn),
    };
  },
  Limiter(name) {
    const object = new Limiter({ concurrency: 1, name });
    return {
      object,
      request: (options) => object.acquire(options),
      tries: () => object.tryAcquire(),
      run: (fn) => object.run(fn),
    };
  },
};
