/** Types shared by the processes of a cell and their controller. */
import type { Address } from '../../../harness/redis-server.js';
import { permits } from '../subjects/semaphores.js';

export const processCount = 4;
export const tasksPerProcess = 10;

/** One run: the work of each process until it is stopped. */
export interface Setting {
  readonly keySet: string;
  /** How long each task pauses before it locks, and how long it holds the lock. */
  readonly pauseMilliseconds: number;
  /** The permits of a semaphore; absent for a lock. */
  readonly permits?: number;
}

export const settings: readonly Setting[] = [0, 1].flatMap((pauseMilliseconds) =>
  ['1/1', '5/9'].map((keySet) => ({ keySet, pauseMilliseconds })),
);

export const hostSettings = settings.filter(({ keySet }) => keySet === '1/1');

export const semaphoreSettings: readonly Setting[] = [0, 1].map((pauseMilliseconds) => ({
  keySet: '1/1',
  pauseMilliseconds,
  permits,
}));

export function nameOf({ keySet, pauseMilliseconds, permits }: Setting): string {
  const pause = pauseMilliseconds === 0 ? '' : ', 1 ms inside and out';
  if (permits !== undefined) return `semaphore of ${permits}, ${processCount} processes${pause}`;
  return `${processCount} processes, ${keySet}${pause}`;
}

/** Passed to a process as JSON when it is forked. */
export interface Orders {
  readonly subject: string;
  readonly address: Address;
  /** The prefix of the keys. */
  readonly namespace: string;
  /** The path of the file in which the judges of all processes count. */
  readonly tally: string;
  /** The process's number, from 0 on. */
  readonly index: number;
}

/** The commands to a process in each run, in this order: begin, measure, end. */
export type Command =
  | { readonly name: 'begin'; readonly setting: Setting }
  | { readonly name: 'measure' }
  | { readonly name: 'end' };

/** The report of a process when all its tasks have ended. */
export interface Report {
  /** Of the measured part. */
  readonly perSecond: number;
  /**
   * In milliseconds, of the turns granted in the measured part and after it, because waits of starved tasks end later.
   */
  readonly waits: readonly number[];
  /** In the whole run. */
  readonly turns: number;
  readonly intruders: number;
  /** Microseconds of processor time. */
  readonly used: number;
}
