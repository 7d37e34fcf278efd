/** `pointsman` as an implementation for the scenarios of `spec/`. */
import {
  type Capability,
  type Guard,
  type Implementation,
  nextMacrotask,
  type Subject,
  type Value,
} from '@pointsman/spec';
import {
  Barrier,
  Broadcast,
  type BroadcastReceiver,
  Channel,
  ClosedError,
  Condition,
  KeyedMutex,
  KeyedRwLock,
  KeyedSemaphore,
  LaggedError,
  Latch,
  Mutex,
  Notify,
  type Permit,
  QueueFullError,
  ReentrancyError,
  RwLock,
  Semaphore,
  TimeoutError,
  Watch,
  type WatchReceiver,
  type WritePermit,
} from 'pointsman';
import { vi } from 'vitest';

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

/** Its clock is vitest's: call `vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })`. */
export const inOneLoop: Implementation = {
  name: 'sync',
  capabilities: new Set(capabilities),
  create(primitive, setup): Subject {
    const { limit = 1, size = 1, count = 0, value = 0, 'when-full': whenFull } = setup;
    const capacity = setup.capacity === 'unbounded' ? Infinity : (setup.capacity ?? 0);
    switch (primitive) {
      case 'semaphore':
        return semaphore(new Semaphore(limit));
      case 'mutex':
        return mutex(new Mutex());
      case 'keyed-semaphore':
        return keyedSemaphore(new KeyedSemaphore<string>(limit));
      case 'keyed-mutex':
        return keyedMutex(new KeyedMutex<string>());
      case 'lock-all':
        return lockAll(new KeyedMutex<string>());
      case 'rwlock':
        return rwlock(new RwLock());
      case 'keyed-rwlock':
        return keyedRwLock(new KeyedRwLock<string>());
      case 'notify':
        return notify(new Notify());
      case 'condition':
        return condition(new Mutex());
      case 'barrier':
        return barrier(new Barrier(size));
      case 'latch':
        return latch(new Latch(count));
      case 'channel':
        return channel(new Channel<Value>(capacity, { whenFull }));
      case 'broadcast':
        return broadcast(new Broadcast<Value>(capacity));
      case 'watch':
        return watch(new Watch<Value>(value));
    }
  },
  settle: nextMacrotask,
  advance: (milliseconds) => vi.advanceTimersByTime(milliseconds),
  timers: () => vi.getTimerCount(),
  kindOf(error) {
    if (error instanceof TimeoutError) return 'timeout';
    if (error instanceof ClosedError) return 'closed';
    if (error instanceof ReentrancyError) return 'reentrant';
    if (error instanceof QueueFullError) return 'full';
    if (error instanceof LaggedError) return { lagged: error.missed };
    if (error instanceof RangeError || error instanceof TypeError) return 'invalid';
    return undefined;
  },
};

/** Without any options, `undefined` is passed: it takes a code path of its own. */
function given<Options extends object>(options: Options): Options | undefined {
  return Object.keys(options).length > 0 ? options : undefined;
}

function semaphore(semaphore: Semaphore): Subject {
  return {
    acquire: (request) => semaphore.acquire(given(request)),
    tryAcquire: (request) => semaphore.tryAcquire(given(request)),
    drain: (request) => semaphore.drain(given(request)),
    close: (...reason) => semaphore.close(...reason),
    setLimit: (limit) => {
      semaphore.limit = limit;
    },
    observe: () => ({
      available: semaphore.available,
      waiting: semaphore.waiting,
      limit: semaphore.limit,
      closed: semaphore.closed,
    }),
  };
}

function mutex(mutex: Mutex): Subject {
  return {
    acquire: (request) => mutex.lock(given(request)),
    tryAcquire: (request) => mutex.tryLock(given(request)),
    drain: (request) => mutex.drain(given(request)),
    close: (...reason) => mutex.close(...reason),
    observe: () => ({
      available: mutex.locked ? 0 : 1,
      waiting: mutex.waiting,
      closed: mutex.closed,
      owner: mutex.owner ?? null,
    }),
  };
}

function keyedSemaphore(keyed: KeyedSemaphore<string>): Subject {
  return {
    acquire: ({ key = '', ...request }) => keyed.acquire(key, given(request)),
    tryAcquire: ({ key = '', ...request }) => keyed.tryAcquire(key, given(request)),
    drain: (request) => keyed.drain(given(request)),
    close: (...reason) => keyed.close(...reason),
    observe: (key) =>
      key === undefined
        ? { closed: keyed.closed, keys: keyed.keys() }
        : { available: keyed.availableFor(key), waiting: keyed.waitingFor(key) },
  };
}

function keyedMutex(keyed: KeyedMutex<string>): Subject {
  return {
    acquire: ({ key = '', ...request }) => keyed.lock(key, given(request)),
    tryAcquire: ({ key = '', ...request }) => keyed.tryLock(key, given(request)),
    drain: (request) => keyed.drain(given(request)),
    close: (...reason) => keyed.close(...reason),
    observe: (key) =>
      key === undefined
        ? { closed: keyed.closed, keys: keyed.keys() }
        : { available: keyed.isLocked(key) ? 0 : 1, waiting: keyed.waitingFor(key) },
  };
}

/** A request for one key passes that key alone, so that both kinds of requests meet. */
function lockAll(keyed: KeyedMutex<string>): Subject {
  return {
    acquire({ keys: [first = '', ...others] = [], ...request }) {
      if (others.length === 0) return keyed.lock(first, given(request));
      return keyed.lockAll([first, ...others], given(request));
    },
    tryAcquire: ({ keys = [] }) => keyed.tryLockAll(keys),
    close: (...reason) => keyed.close(...reason),
    observe: () => ({ closed: keyed.closed, keys: keyed.keys() }),
  };
}

function rwlock(lock: RwLock): Subject {
  return {
    read: (request) => lock.read(given(request)),
    write: (request) => lock.write(given(request)),
    tryRead: () => lock.tryRead(),
    tryWrite: () => lock.tryWrite(),
    downgrade: (_, held) => (held as WritePermit).downgrade(),
    drain: (request) => lock.drain(given(request)),
    close: (...reason) => lock.close(...reason),
    observe: () => ({
      waiting: lock.waiting,
      reading: lock.readers,
      writing: Number(lock.writing),
      closed: lock.closed,
    }),
  };
}

function keyedRwLock(keyed: KeyedRwLock<string>): Subject {
  return {
    read: ({ key = '', ...request }) => keyed.read(key, given(request)),
    write: ({ key = '', ...request }) => keyed.write(key, given(request)),
    tryRead: ({ key = '' }) => keyed.tryRead(key),
    tryWrite: ({ key = '' }) => keyed.tryWrite(key),
    downgrade: (_, held) => (held as WritePermit).downgrade(),
    close: (...reason) => keyed.close(...reason),
    observe: (key) =>
      key === undefined
        ? { closed: keyed.closed, keys: keyed.keys() }
        : { waiting: keyed.waitingFor(key) },
  };
}

function notify(notify: Notify): Subject {
  return {
    notified: (request) => notify.notified(given(request)),
    notifyOne: () => notify.notifyOne(),
    notifyWaiters: () => notify.notifyWaiters(),
    observe: () => ({ waiting: notify.waiting }),
  };
}

function condition(mutex: Mutex): Subject {
  const condition = new Condition(mutex);
  return {
    acquire: (request) => mutex.lock(given(request)),
    wait: (request, held) => condition.wait(held as Permit, given(request)),
    notifyOne: () => condition.notify(),
    notifyWaiters: () => condition.notifyAll(),
    observe: () => ({
      available: mutex.locked ? 0 : 1,
      waiting: mutex.waiting + condition.waiting,
    }),
  };
}

function barrier(barrier: Barrier): Subject {
  return {
    async wait(request) {
      const { isLeader } = await barrier.wait(given(request));
      return isLeader ? 'leader' : undefined;
    },
    observe: () => ({ waiting: barrier.waiting }),
  };
}

function latch(latch: Latch): Subject {
  return {
    wait: (request) => latch.wait(given(request)),
    countDown: (...count) => latch.countDown(...count),
    observe: () => ({ waiting: latch.waiting, count: latch.count }),
  };
}

function channel(channel: Channel<Value>): Subject {
  return {
    send: ({ value, ...request }) => channel.send(value, given(request)),
    trySend: ({ value }) => channel.trySend(value),
    receive: (request) => channel.receive(given(request)),
    receiveMany: ({ max = 1, ...request }) => channel.receiveMany(max, given(request)),
    tryReceive: () => channel.tryReceive()?.value,
    close: (...reason) => channel.close(...reason),
    discard: (...reason) => channel.abort(...reason),
    observe: () => ({
      waiting: channel.waitingSenders + channel.waitingReceivers,
      length: channel.length,
      closed: channel.closed,
    }),
  };
}

/** Releasing a receiver closes it. */
const held = <Receiver extends { close(): void }>(receiver: Receiver): Guard & Receiver =>
  Object.assign(receiver, { release: () => receiver.close() });

function broadcast(broadcast: Broadcast<Value>): Subject {
  return {
    async send({ value }) {
      broadcast.send(value);
    },
    subscribe: () => held(broadcast.subscribe()),
    receive: (request, held) =>
      (held as unknown as BroadcastReceiver<Value>).receive(given(request)),
    tryReceive: (_, held) => (held as unknown as BroadcastReceiver<Value>).tryReceive()?.value,
    close: (...reason) => broadcast.close(...reason),
    observe: () => ({ subscribed: broadcast.receivers, closed: broadcast.closed }),
  };
}

function watch(watch: Watch<Value>): Subject {
  return {
    async send({ value }) {
      watch.send(value);
    },
    subscribe: () => held(watch.subscribe()),
    changed: (request, held) => (held as unknown as WatchReceiver<Value>).changed(given(request)),
    close: (...reason) => watch.close(...reason),
    observe: () => ({ value: watch.value, subscribed: watch.receivers, closed: watch.closed }),
  };
}
