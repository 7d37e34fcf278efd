/** The primitives of `pointsman/shared` as implementations for the scenarios of `spec/`. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Capability,
  type Counters,
  type ErrorKind,
  type Guard,
  type Implementation,
  nextMacrotask,
  type Primitive,
  type Setup,
  type Subject,
} from '@pointsman/spec';
import {
  ClosedError,
  type HeldLock,
  ReentrancyError,
  type SharedGuard,
  SharedMutex,
  SharedRwLock,
  SharedSemaphore,
  type Store,
  TimeoutError,
} from 'pointsman/shared';

type Shared = SharedMutex | SharedRwLock | SharedSemaphore;
/** Scales a timeout. */
type Scale = <Request extends { timeout?: number }>(
  request: Request,
) => Omit<Request, 'timeout'> & { timeout?: number };

const common: readonly Capability[] = [
  'timeout',
  'signal',
  'try',
  'reason',
  'release-again',
  'drain',
];

/** Why it lacks the other capabilities, by name. */
export const lacks: Partial<Record<Capability, string>> = {
  priority: 'requests of all processes are served in order of arrival',
  close: 'close releases what is held, so that no lock outlives the connections',
  drop: 'an abort after the grant is too late',
  phases: 'the store has one queue, in order of arrival, so that no process starves another',
  'loose-numbers': 'limits and weights are integers on their way to the store',
};

const trip = 'a grant takes a round trip: an abort in the same turn comes before it';
const waits = 'waits until the limit is raised, which any process can do at any time';
const positive = 'the limit of a key is at least 1';

/** Why a scenario does not hold if a grant takes a round trip, by its name. */
export const excluded: Readonly<Record<string, string>> = {
  'grant, then abort, keeps the lock': trip,
  'grant, then abort, keeps the permit': trip,
  'grant, then abort, keeps the permit and the entry': trip,
  'an acquire aborted in the turn in which it was granted keeps the permit': trip,
  'the release of the last reader, then the abort of the writer, keeps the lock': trip,
  'the abort of one of several granted readers does not affect the others': trip,
  'an acquire of more than a lowered limit is refused': waits,
  'a waiter larger than the lowered limit is refused when it comes to the front': waits,
  'a waiter larger than the lowered limit is refused, and those behind it are served': waits,
  'a waiter refused by a lowered limit leaves no timer': waits,
  'with a limit of 0 all requests wait, and are granted when it is raised': positive,
  'with a limit of 0 no request is refused for its number of permits': positive,
  'the write permit has no effect after the downgrade':
    'the guard stays the same after a downgrade',
};

/** How many milliseconds after its timeout a wait may end. */
const slack = 25;

let scenarios = 0;

/**
 * Every scenario has its own namespace within that of the store. `strict`: a grant takes a round trip. `pace`: the times
 * of scenarios are real here, multiplied by this factor.
 */
export function onRedis(store: Store, mode: 'local' | 'strict', pace = 0.6): Implementation {
  let current: Shared;
  const settle = async () => {
    // Replies arrive in the order of the commands, so after a query's reply no earlier reply is pending.
    for (let i = 0; i < 3; i++) {
      await nextMacrotask();
      await current.query();
    }
    await nextMacrotask();
  };
  return {
    name: `machine, ${mode}`,
    capabilities: new Set([
      ...common,
      'owner',
      'permits',
      'bounded',
      'resize',
      'arrival',
      // A strict grant takes a round trip, so an abort in the same turn drops it.
      ...(mode === 'strict' ? (['drop'] as const) : []),
    ]),
    create(primitive, setup) {
      const own = store.withNamespace(`${store.namespace}-${++scenarios}`);
      const [shared, subject] = create(own, primitive, setup, mode, pace);
      current = shared;
      return subject;
    },
    // Of several grants, one may come with a reply and the other as a message.
    unordered: true,
    settle,
    advance: (milliseconds) => delay(milliseconds * pace + slack),
    kindOf,
  };
}

function create(
  store: Store,
  primitive: Primitive,
  { limit = 1 }: Setup,
  mode: 'local' | 'strict',
  pace: number,
): [Shared, Subject] {
  const scaled = <Request extends { timeout?: number }>({ timeout, ...request }: Request) =>
    timeout === undefined ? request : { ...request, timeout: timeout * pace };

  if (primitive.endsWith('semaphore')) {
    const semaphore = new SharedSemaphore(store, limit, { mode });
    return [semaphore, semaphoreOf(semaphore, limit, scaled)];
  }
  if (primitive.endsWith('rwlock')) {
    const lock = new SharedRwLock(store);
    return [lock, rwlockOf(lock, scaled)];
  }
  const mutex = new SharedMutex(store, { mode });
  return [mutex, mutexOf(mutex, scaled)];
}

function kindOf(error: unknown): ErrorKind | undefined {
  if (error instanceof TimeoutError) return 'timeout';
  if (error instanceof ClosedError) return 'closed';
  if (error instanceof ReentrancyError) return 'reentrant';
  if (error instanceof RangeError || error instanceof TypeError) return 'invalid';
  return undefined;
}

const only = 'the only one';

const weighing = <Request extends { permits?: number }>({
  permits: weight,
  ...request
}: Request) => ({
  ...request,
  weight,
});

/** Counts what the store shows of a key, or of all. */
async function observe(
  shared: Shared,
  key: string | undefined,
  count: (held: readonly HeldLock[]) => Counters,
): Promise<Counters> {
  const { held, waiting } = await shared.query();
  const here = (keys: readonly string[]) => key === undefined || keys.includes(key);
  return {
    ...count(held.filter(({ keys }) => here(keys))),
    keys: new Set([...held, ...waiting].flatMap(({ keys }) => keys)),
    waiting: waiting.filter(({ keys }) => here(keys)).length,
  };
}

function mutexOf(mutex: SharedMutex, scaled: Scale): Subject {
  return {
    acquire: ({ key = only, ...request }) => mutex.lock(key, scaled(request)),
    drain: (request) => mutex.drain(scaled(request)),
    tryAcquire: ({ key = only, ...request }) => mutex.tryLock(key, request),
    observe: (key) => observe(mutex, key, (held) => ({ available: held.length > 0 ? 0 : 1 })),
  };
}

function semaphoreOf(semaphore: SharedSemaphore, first: number, scaled: Scale): Subject {
  let limit = first;
  return {
    acquire: ({ key = only, ...request }) => semaphore.acquire(key, scaled(weighing(request))),
    drain: (request) => semaphore.drain(scaled(request)),
    tryAcquire: ({ key = only, ...request }) => semaphore.tryAcquire(key, weighing(request)),
    async setLimit(wanted) {
      await semaphore.setLimit(only, wanted);
      limit = wanted;
    },
    observe: (key) =>
      observe(semaphore, key, (held) => {
        const taken = held.reduce((sum, { weight = 0 }) => sum + weight, 0);
        return { available: Math.max(0, limit - taken), limit };
      }),
  };
}

function rwlockOf(lock: SharedRwLock, scaled: Scale): Subject {
  return {
    read: ({ key = only, ...request }) => lock.read(key, scaled(request)),
    write: ({ key = only, ...request }) => lock.write(key, scaled(request)),
    tryRead: ({ key = only }) => lock.tryRead(key),
    tryWrite: ({ key = only }) => lock.tryWrite(key),
    downgrade: async (_, held: Guard) => {
      await lock.downgrade(held as SharedGuard);
      return held;
    },
    drain: (request) => lock.drain(scaled(request)),
    observe: (key) =>
      observe(lock, key, (held) => ({
        reading: held.filter(({ weight }) => weight !== undefined).length,
        writing: held.filter(({ weight }) => weight === undefined).length,
      })),
  };
}
