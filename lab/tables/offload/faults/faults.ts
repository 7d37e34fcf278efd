/**
 * The faults, by the name of the column: how each is provoked in a pool of one thread, and which behaviour is sound.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Behaviour } from '../../../harness/table.js';
import type { OpenPool, PoolSettings } from '../subject.js';
import { describeRejection, endingOf, wordsOf } from './ending.js';

interface Fault {
  readonly settings?: Partial<PoolSettings>;
  provoke(pool: OpenPool): Promise<Behaviour>;
}

const abortMilliseconds = 200;
const manyTasks = 40;

export const faults: Readonly<Record<string, Fault>> = {
  'throws an error of its own': {
    async provoke(pool) {
      const ending = await endingOf(() => pool.run('throwCustom', undefined));
      if (ending.kind !== 'rejected') return describeRejection(ending);
      const lost = lostOf(ending.reason);
      return lost.length === 0
        ? { words: 'arrives whole', sound: true }
        : { words: `loses ${lost.join(', ')}`, sound: false };
    },
  },
  'process.exit': { provoke: (pool) => rejection(() => pool.run('exit', 3)) },
  'out of memory': {
    settings: { megabytes: 24 },
    provoke: (pool) => rejection(() => pool.run('fillMemory', undefined)),
  },
  'endless loop, aborted': {
    provoke: (pool) => {
      const signal = AbortSignal.timeout(abortMilliseconds);
      return rejection(() => pool.run('loopForEver', undefined, { signal }));
    },
  },
  'result that cannot be cloned': {
    provoke: (pool) => rejection(() => pool.run('giveWeakMap', undefined)),
  },
  'error in a timer after the task': {
    async provoke(pool) {
      const ending = await endingOf(() => pool.run('throwLater', 20));
      await pause(150);
      return { words: wordsOf(ending), sound: ending.kind === 'resolved' };
    },
  },
  'rejection that nobody handles': {
    async provoke(pool) {
      const ending = await endingOf(() => pool.run('leaveRejection', 50));
      return ending.kind === 'resolved'
        ? { words: 'resolves', sound: true }
        : describeRejection(ending);
    },
  },
  'queue full': {
    settings: { maxWaiting: 2 },
    async provoke(pool) {
      const tasks = Array.from({ length: manyTasks }, () => endingOf(() => pool.run('wait', 20)));
      const refused = (await Promise.all(tasks)).find(({ kind }) => kind !== 'resolved');
      return refused ? describeRejection(refused) : { words: 'has no limit', sound: false };
    },
  },
};

async function rejection(start: () => PromiseLike<unknown>): Promise<Behaviour> {
  return describeRejection(await endingOf(start));
}

/** The parts of `throwCustom`'s error that were lost. */
function lostOf(reason: unknown): string[] {
  if (!(reason instanceof Error)) return ['being an Error'];
  const { name, message, code, extra, cause } = reason as Error & Record<string, unknown>;
  const kept: Readonly<Record<string, boolean>> = {
    name: name === 'TaskError',
    message: message === 'the task failed',
    code: code === 'E_TASK',
    extra: (extra as { attempts?: number } | undefined)?.attempts === 3,
    cause: cause instanceof Error && cause.message === 'the cause',
  };
  return Object.keys(kept).filter((part) => !kept[part]);
}
