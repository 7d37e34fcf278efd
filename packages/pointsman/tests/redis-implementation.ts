/** `SharedMutex` as an implementation for the scenarios of `spec/`. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Capability,
  type ErrorKind,
  type Implementation,
  nextMacrotask,
  type Subject,
} from '@pointsman/spec';
import {
  ClosedError,
  ReentrancyError,
  SharedMutex,
  type Store,
  TimeoutError,
} from 'pointsman/shared';

const capabilities: readonly Capability[] = [
  'timeout',
  'signal',
  'try',
  'reason',
  'owner',
  'release-again',
  'drain',
];

/** Why it lacks the other capabilities, by name. */
export const lacks: Partial<Record<Capability, string>> = {
  priority: 'requests of all processes are served in order of arrival',
  close: 'close releases what is held, so that no lock outlives the connections',
  drop: 'an abort after the grant is too late',
};

/** The times of scenarios are real here, multiplied by this factor. */
const pace = 0.6;
/** How many milliseconds after its timeout a wait may end. */
const slack = 25;

let scenarios = 0;

/** Every scenario has its own namespace within that of the store. */
export function onRedis(store: Store, mode: 'local' | 'strict'): Implementation {
  let current: SharedMutex;
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
    // A strict grant takes a round trip, so an abort in the same turn drops it.
    capabilities: new Set(mode === 'strict' ? [...capabilities, 'drop'] : capabilities),
    create() {
      const namespace = `${store.namespace}-${++scenarios}`;
      current = new SharedMutex(store.withNamespace(namespace), { mode });
      return subject(current);
    },
    settle,
    advance: (milliseconds) => delay(milliseconds * pace + slack),
    kindOf,
  };
}

function kindOf(error: unknown): ErrorKind | undefined {
  if (error instanceof TimeoutError) return 'timeout';
  if (error instanceof ClosedError) return 'closed';
  if (error instanceof ReentrancyError) return 'reentrant';
  if (error instanceof RangeError || error instanceof TypeError) return 'invalid';
  return undefined;
}

function subject(mutex: SharedMutex): Subject {
  return {
    acquire: ({ key = 'the only one', timeout, ...request }) =>
      mutex.lock(key, timeout === undefined ? request : { ...request, timeout: timeout * pace }),
    drain: ({ timeout, ...request }) =>
      mutex.drain(timeout === undefined ? request : { ...request, timeout: timeout * pace }),
    tryAcquire: ({ key = 'the only one', ...request }) => mutex.tryLock(key, request),
    async observe(key) {
      const { held, waiting } = await mutex.query();
      const wanted = waiting.flatMap(({ keys }) => keys);
      const taken = new Set(held.flatMap(({ keys }) => keys));
      const here = key === undefined ? wanted : wanted.filter((each) => each === key);
      return {
        available: (key === undefined ? taken.size > 0 : taken.has(key)) ? 0 : 1,
        keys: new Set([...taken, ...wanted]),
        waiting: here.length,
      };
    },
  };
}
