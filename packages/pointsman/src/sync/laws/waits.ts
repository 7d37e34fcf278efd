/**
 * The operations that wait, as the laws see them.
 *
 * Invariant: each operation of the public API that takes `WaitOptions` is a row, so that a law holds for all of them;
 * except `shutdown` (`shutdown.test.ts`) and `Limiter.waitForSpace`.
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
  type Permit,
  RwLock,
  Semaphore,
  select,
  type WaitOptions,
  Watch,
} from '../index.js';

/** An operation that has to wait. Each start is a wait of its own; its end leaves nothing held. */
export interface Wait {
  /** Its getters show its state. */
  readonly object: object;
  /** The names of its options besides those of `WaitOptions`. */
  readonly options?: readonly string[];
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

const permitOptions = ['permits', 'priority'];
const lockOptions = ['owner', 'priority'];
const startOptions = ['key', 'weight', 'priority'];

/** Waits for what a permit holds. */
function behind(
  held: Permit | undefined,
  object: { readonly waiting: number; close(reason?: unknown): void },
  start: Wait['start'],
  options: readonly string[] = [],
): Wait {
  const serve = () => held?.release();
  const close = (reason: unknown) => object.close(reason);
  return { object, options, start, serve, free: serve, close, waiting: () => object.waiting };
}

/** Waits that count as no requests, and that a close does not end. */
function draining(
  held: Permit | undefined,
  object: { drain(options?: WaitOptions): Promise<void> },
): Wait {
  const serve = () => held?.release();
  return { object, start: (options) => object.drain(options), serve, free: serve };
}

/** Waits for a value of a channel. */
function receiving(channel: Channel<number>, start: Wait['start']): Wait {
  return {
    object: channel,
    start,
    serve() {
      while (channel.waitingReceivers > 0) channel.trySend(1);
    },
    free: () => void channel.trySend(1),
    close: (reason) => channel.close(reason),
    waiting: () => channel.waitingReceivers,
  };
}

/** Waits for space in a channel of one value. */
function sending(channel: Channel<number>, start: Wait['start']): Wait {
  channel.trySend(1);
  return {
    object: channel,
    start,
    serve() {
      while (channel.waitingSenders > 0) channel.tryReceive();
    },
    free: () => void channel.tryReceive(),
    close: (reason) => channel.close(reason),
    waiting: () => channel.waitingSenders,
  };
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
    return behind(
      held,
      semaphore,
      (options) => semaphore.acquire(options).then(release),
      permitOptions,
    );
  },
  'Semaphore.run'() {
    const semaphore = new Semaphore(1);
    const held = semaphore.tryAcquire();
    return behind(held, semaphore, (options) => semaphore.run(() => {}, options), permitOptions);
  },
  'Semaphore.drain'() {
    const semaphore = new Semaphore(1);
    return draining(semaphore.tryAcquire(), semaphore);
  },
  'Mutex.lock'() {
    const mutex = new Mutex();
    const held = mutex.tryLock();
    return behind(held, mutex, (options) => mutex.lock(options).then(release), lockOptions);
  },
  'Mutex.lock with an owner'() {
    const mutex = new Mutex();
    const held = mutex.tryLock();
    return behind(held, mutex, (options) => mutex.lock({ ...options, owner: {} }).then(release));
  },
  'Mutex.run'() {
    const mutex = new Mutex();
    const held = mutex.tryLock();
    return behind(held, mutex, (options) => mutex.run(() => {}, options), lockOptions);
  },
  'Mutex.drain'() {
    const mutex = new Mutex();
    return draining(mutex.tryLock(), mutex);
  },
  'RwLock.read'() {
    const lock = new RwLock();
    const held = lock.tryWrite();
    return behind(held, lock, (options) => lock.read(options).then(release));
  },
  'RwLock.write'() {
    const lock = new RwLock();
    const held = lock.tryRead();
    return behind(held, lock, (options) => lock.write(options).then(release), ['priority']);
  },
  'RwLock.runRead'() {
    const lock = new RwLock();
    const held = lock.tryWrite();
    return behind(held, lock, (options) => lock.runRead(() => {}, options));
  },
  'RwLock.runWrite'() {
    const lock = new RwLock();
    const held = lock.tryWrite();
    return behind(held, lock, (options) => lock.runWrite(() => {}, options), ['priority']);
  },
  'RwLock.drain'() {
    const lock = new RwLock();
    return draining(lock.tryRead(), lock);
  },
  'KeyedSemaphore.acquire'() {
    const keyed = new KeyedSemaphore<string>(1);
    const held = keyed.tryAcquire('key');
    return behind(
      held,
      keyed,
      (options) => keyed.acquire('key', options).then(release),
      permitOptions,
    );
  },
  'KeyedSemaphore.run'() {
    const keyed = new KeyedSemaphore<string>(1);
    const held = keyed.tryAcquire('key');
    return behind(held, keyed, (options) => keyed.run('key', () => {}, options), permitOptions);
  },
  'KeyedSemaphore.drain'() {
    const keyed = new KeyedSemaphore<string>(1);
    return draining(keyed.tryAcquire('key'), keyed);
  },
  'KeyedMutex.lock'() {
    const keyed = new KeyedMutex<string>();
    const held = keyed.tryLock('key');
    return behind(held, keyed, (options) => keyed.lock('key', options).then(release), lockOptions);
  },
  'KeyedMutex.run'() {
    const keyed = new KeyedMutex<string>();
    const held = keyed.tryLock('key');
    return behind(held, keyed, (options) => keyed.run('key', () => {}, options), lockOptions);
  },
  'KeyedMutex.lockAll'() {
    const keyed = new KeyedMutex<string>();
    const held = keyed.tryLock('b');
    const wait = behind(
      held,
      keyed,
      (options) => keyed.lockAll(['a', 'b'], options).then((locks) => locks.release()),
      lockOptions,
    );
    // A request counts once for each of its keys.
    return { ...wait, waiting: () => keyed.waitingFor('b') };
  },
  'KeyedMutex.runAll'() {
    const keyed = new KeyedMutex<string>();
    const held = keyed.tryLock('b');
    const wait = behind(
      held,
      keyed,
      (options) => keyed.runAll(['a', 'b'], () => {}, options),
      lockOptions,
    );
    return { ...wait, waiting: () => keyed.waitingFor('b') };
  },
  'KeyedMutex.drain'() {
    const keyed = new KeyedMutex<string>();
    return draining(keyed.tryLock('key'), keyed);
  },
  'KeyedRwLock.read'() {
    const keyed = new KeyedRwLock<string>();
    const held = keyed.tryWrite('key');
    return behind(held, keyed, (options) => keyed.read('key', options).then(release));
  },
  'KeyedRwLock.write'() {
    const keyed = new KeyedRwLock<string>();
    const held = keyed.tryRead('key');
    return behind(held, keyed, (options) => keyed.write('key', options).then(release), [
      'priority',
    ]);
  },
  'KeyedRwLock.runRead'() {
    const keyed = new KeyedRwLock<string>();
    const held = keyed.tryWrite('key');
    return behind(held, keyed, (options) => keyed.runRead('key', () => {}, options));
  },
  'KeyedRwLock.runWrite'() {
    const keyed = new KeyedRwLock<string>();
    const held = keyed.tryRead('key');
    return behind(held, keyed, (options) => keyed.runWrite('key', () => {}, options), ['priority']);
  },
  'KeyedRwLock.drain'() {
    const keyed = new KeyedRwLock<string>();
    return draining(keyed.tryRead('key'), keyed);
  },
  'Limiter.acquire'() {
    const limiter = new Limiter({ concurrency: 1 });
    const held = limiter.tryAcquire();
    return behind(held, limiter, (options) => limiter.acquire(options).then(release), startOptions);
  },
  'Limiter.run'() {
    const limiter = new Limiter({ concurrency: 1 });
    const held = limiter.tryAcquire();
    return behind(held, limiter, (options) => limiter.run(() => {}, options), [
      ...startOptions,
      'runTimeout',
    ]);
  },
  'Limiter.drain'() {
    const limiter = new Limiter({ concurrency: 1 });
    return draining(limiter.tryAcquire(), limiter);
  },
  'Notify.notified'() {
    const notify = new Notify();
    return {
      object: notify,
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
      object: condition,
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
      object: condition,
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
      object: barrier,
      start: (options) => barrier.wait(options),
      serve: () => void barrier.wait(),
      waiting: () => barrier.waiting,
    };
  },
  'Latch.wait'() {
    const latch = new Latch(1);
    const serve = () => latch.countDown();
    return {
      object: latch,
      start: (options) => latch.wait(options),
      serve,
      free: serve,
      waiting: () => latch.waiting,
    };
  },
  'Channel.receive'() {
    const channel = new Channel<number>(1);
    return receiving(channel, (options) => channel.receive(options));
  },
  'Channel.receiveMany'() {
    const channel = new Channel<number>(1);
    return receiving(channel, (options) => channel.receiveMany(3, options));
  },
  'Channel.send'() {
    const channel = new Channel<number>(1);
    return sending(channel, (options) => channel.send(1, options));
  },
  'Channel.sendAll'() {
    const channel = new Channel<number>(1);
    return sending(channel, (options) => channel.sendAll([1], options));
  },
  'Channel.sendAll, waiting for its source'() {
    const source = silentSource();
    const channel = new Channel<number>(0);
    return {
      object: channel,
      start: (options) => channel.sendAll(source, options),
      serve: source.finish,
      close: source.fail,
    };
  },
  'BroadcastReceiver.receive'(count) {
    const broadcast = new Broadcast<number>(1);
    const receiver = broadcast.subscribe();
    return {
      object: receiver,
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
      object: receiver,
      start: (options) => receiver.changed(options),
      serve,
      free: serve,
      close: (reason) => watch.close(reason),
    };
  },
  select() {
    const semaphore = new Semaphore(1);
    const held = semaphore.tryAcquire();
    return behind(
      held,
      semaphore,
      (options) =>
        select({ permit: (only) => semaphore.acquire(only), off: undefined }, options).then(
          ({ value }) => value.release(),
        ),
      ['biased'],
    );
  },
};

/** The operations whose waits have this member. */
export function waitsWith<Name extends keyof Wait>(name: Name) {
  type Complete = Wait & { [Key in Name]-?: NonNullable<Wait[Key]> };
  const rows = Object.entries(waits).filter(([, create]) => create(1)[name] !== undefined);
  return rows as [string, (count: number) => Complete][];
}
