/** `RedisMutex` as an implementation that the scenarios of `spec/` can be played on. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Capability,
  type ErrorKind,
  type Implementation,
  nextMacrotask,
  type Subject,
} from '@pointsman/spec';
import { ClosedError, type RedisMutex, ReentrancyError, TimeoutError } from 'pointsman/redis';

const capabilities: readonly Capability[] = [
  'timeout',
  'signal',
  'try',
  'reason',
  'owner',
  'release-again',
  'drain',
];

/** Why it has not the others, by their names. */
export const lacks: Partial<Record<Capability, string>> = {
  priority: 'the order is that of arrival among all processes',
  close: 'its close gives back what is held, so that nothing outlives the connections',
  drop: 'an abort after the grant comes too late',
};

/** The times of scenarios are real here, and shorter. */
const pace = 0.6;
/** How much later than a timeout its end may come. */
const slack = 25;

let scenarios = 0;

/** Every scenario has a namespace of its own in that of the mutex. */
export function onRedis(mutex: RedisMutex, mode: 'local' | 'strict'): Implementation {
  let current = mutex;
  const settle = async () => {
    // Answers come in the order of the commands, so after one of its own nothing is under way.
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
      current = mutex.withNamespace(`${mutex.namespace}-${++scenarios}`);
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

function subject(mutex: RedisMutex): Subject {
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
