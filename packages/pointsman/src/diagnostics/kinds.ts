/**
 * The methods of each kind of primitive: which wait, which try, what they request and what they grant. A new primitive
 * needs only an entry in this table.
 *
 * A kind is recognized by its methods, not by its class. So this module imports no primitive, and a program that uses one
 * does not bundle all.
 */

/** The names of a method's arguments, in order. */
type Layout =
  | 'options'
  | `${'fn' | 'value' | 'value fn' | 'key' | 'keys' | 'key fn' | 'keys fn'} options`;

export interface Operation {
  /** The names of its arguments, in order. */
  readonly arguments: readonly string[];
  /** `some`: the number of permits in the options. `all`: exclusive access. `nothing`: does not wait for holders. */
  readonly wants: 'some' | 'all' | 'nothing';
  /** Whether the result is a permit that is held until its release. */
  readonly grants: boolean;
  /** Whether it returns at once. */
  readonly tries: boolean;
}

export interface Kind {
  readonly name: string;
  readonly operations: Readonly<Record<string, Operation>>;
  /** Returns the number of permits, per key if there are keys. */
  readonly limit?: (primitive: never) => number | undefined;
  /** Whether a request that could be granted waits behind an earlier one that cannot. */
  readonly inOrder?: boolean;
}

const takes = (
  wants: Operation['wants'],
  layout: Layout = 'options',
  tries = false,
): Operation => ({
  arguments: layout.split(' '),
  wants,
  grants: true,
  tries,
});
const tries = (wants: Operation['wants'], layout?: Layout): Operation => takes(wants, layout, true);
const waits = (wants: Operation['wants'], layout: Layout = 'options'): Operation => ({
  arguments: layout.split(' '),
  wants,
  grants: false,
  tries: false,
});

const limitOf = ({ limit }: { readonly limit: number }): number => limit;
const ending = { drain: waits('all'), shutdown: waits('all') };

const kinds: readonly (Kind & { readonly has: readonly string[] })[] = [
  {
    name: 'SharedMutex',
    has: ['lock', 'forceUnlock'],
    operations: {
      lock: takes('all', 'keys options'),
      tryLock: tries('all', 'keys options'),
    },
  },
  {
    name: 'Limiter',
    has: ['acquire', 'penalize'],
    limit: ({ concurrency }: { readonly concurrency?: number }) => concurrency,
    operations: {
      acquire: takes('some'),
      tryAcquire: tries('some'),
      run: takes('some', 'fn options'),
      waitForSpace: waits('nothing'),
      ...ending,
    },
  },
  {
    name: 'KeyedRwLock',
    inOrder: true,
    has: ['tryRead', 'tryWrite', 'keys'],
    operations: {
      read: takes('some', 'key options'),
      write: takes('all', 'key options'),
      tryRead: tries('some', 'key options'),
      tryWrite: tries('all', 'key options'),
      runRead: takes('some', 'key fn options'),
      runWrite: takes('all', 'key fn options'),
      ...ending,
    },
  },
  {
    name: 'RwLock',
    inOrder: true,
    has: ['tryRead', 'tryWrite'],
    operations: {
      read: takes('some'),
      write: takes('all'),
      tryRead: tries('some'),
      tryWrite: tries('all'),
      runRead: takes('some', 'fn options'),
      runWrite: takes('all', 'fn options'),
      ...ending,
    },
  },
  {
    name: 'KeyedSemaphore',
    inOrder: true,
    has: ['acquire', 'keys'],
    limit: limitOf,
    operations: {
      acquire: takes('some', 'key options'),
      tryAcquire: tries('some', 'key options'),
      run: takes('some', 'key fn options'),
      ...ending,
    },
  },
  {
    name: 'Semaphore',
    inOrder: true,
    has: ['acquire', 'tryAcquire', 'available'],
    limit: limitOf,
    operations: {
      acquire: takes('some'),
      tryAcquire: tries('some'),
      run: takes('some', 'fn options'),
      ...ending,
    },
  },
  {
    name: 'KeyedMutex',
    has: ['lock', 'keys'],
    operations: {
      lock: takes('all', 'key options'),
      tryLock: tries('all', 'key options'),
      run: takes('all', 'key fn options'),
      lockAll: takes('all', 'keys options'),
      tryLockAll: tries('all', 'keys options'),
      runAll: takes('all', 'keys fn options'),
      ...ending,
    },
  },
  {
    name: 'Mutex',
    has: ['tryLock', 'locked'],
    operations: {
      lock: takes('all'),
      tryLock: tries('all'),
      run: takes('all', 'fn options'),
      ...ending,
    },
  },
  {
    name: 'Channel',
    has: ['trySend', 'tryReceive'],
    operations: {
      send: waits('nothing', 'value options'),
      receive: waits('nothing'),
      sendAll: waits('nothing', 'value options'),
      receiveMany: waits('nothing', 'value options'),
    },
  },
  {
    name: 'BroadcastReceiver',
    has: ['receive', 'tryReceive'],
    operations: { receive: waits('nothing') },
  },
  {
    name: 'WatchReceiver',
    has: ['changed', 'hasChanged'],
    operations: { changed: waits('nothing') },
  },
  {
    name: 'Notify',
    has: ['notified', 'notifyOne'],
    operations: { notified: waits('nothing') },
  },
  {
    name: 'Condition',
    has: ['waitFor', 'notifyAll'],
    operations: {
      wait: waits('nothing', 'value options'),
      waitFor: waits('nothing', 'value fn options'),
    },
  },
  {
    name: 'Latch',
    has: ['wait', 'countDown'],
    operations: { wait: waits('nothing') },
  },
  {
    name: 'Barrier',
    has: ['wait', 'waiting'],
    operations: { wait: waits('nothing') },
  },
];

/** Returns the kind of a primitive, or undefined for any other object. */
export const kindOf = (primitive: object): Kind | undefined =>
  kinds.find(({ has }) => has.every((name) => name in primitive));
