/** What the processes of a cell and the one that directs them have in common. */
import type { Address } from '../../../harness/redis-server.js';

export const mostProcesses = 4;
export const tasksPerProcess = 10;

/** One run: what each process does until it is stopped. */
export interface Setting {
  readonly processes: number;
  readonly keySet: string;
  /** Each task pauses so long before it asks, and stays inside so long. */
  readonly pauseMilliseconds: number;
}

export const settings: readonly Setting[] = [0, 1].flatMap((pauseMilliseconds) =>
  [2, 4].flatMap((processes) =>
    ['1/1', '5/9'].map((keySet) => ({ processes, keySet, pauseMilliseconds })),
  ),
);

export function nameOf({ processes, keySet, pauseMilliseconds }: Setting): string {
  return `${processes} processes, ${keySet}${pauseMilliseconds === 0 ? '' : ', 1 ms inside and out'}`;
}

/** Given to a process as JSON when it is forked. */
export interface Orders {
  readonly subject: string;
  readonly address: Address;
  /** Of the file in which the judges of all processes count. */
  readonly tally: string;
}

/** What a process is told, one after the other in each run: to begin, to measure, to end. */
export type Command =
  | { readonly name: 'begin'; readonly setting: Setting }
  | { readonly name: 'measure' }
  | { readonly name: 'end' };

/** What a process answers when all its tasks have ended. */
export interface Report {
  /** Of the measured part. */
  readonly perSecond: number;
  /** Of the turns that were granted in the measured part; in milliseconds. */
  readonly waits: readonly number[];
  /** In the whole run. */
  readonly sent: number;
  readonly turns: number;
  readonly intruders: number;
}
