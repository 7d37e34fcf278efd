/** Pools for tests, in Node and in a page. Their threads run `tasks.ts` and share a board with the test. */
import { onTestFinished } from 'vitest';
import { Pool, type PoolOptions } from '../../src/pool/index.js';
import { until } from '../bridge/threads.js';
import { Board } from './board.js';
import { starter } from './start.node.js';

export { inNode, until } from '../bridge/threads.js';
export { startNothing } from './start.node.js';

export type Tasks = typeof import('./tasks.js');

export type Start = (resourceLimits?: object) => StartedWorker;

/** A worker of Node, or of a browser. */
export interface StartedWorker {
  postMessage(message: unknown, ...rest: never[]): void;
  terminate(): unknown;
}

export interface Opened {
  readonly pool: Pool<Tasks>;
  readonly board: Board;
  /** All workers ever started for it. */
  readonly workers: readonly StartedWorker[];
}

export type OpenOptions = Omit<PoolOptions, 'module' | 'worker'>;

/** Opens a pool that ends with its test. */
export async function open({ resourceLimits, ...options }: OpenOptions = {}): Promise<Opened> {
  const start = await starter();
  const board = new Board();
  const workers: StartedWorker[] = [];
  const pool = new Pool<Tasks>({
    threads: 1,
    ...options,
    worker() {
      const worker = start(resourceLimits);
      worker.postMessage(['test', board.words]);
      workers.push(worker);
      return worker;
    },
  });
  onTestFinished(() => pool.terminate());
  return { pool, board, workers };
}

/** Like {@link open}; resolves when each thread has started. */
export async function openWarm(options: OpenOptions = {}): Promise<Opened> {
  const opened = await open(options);
  await warm(opened, options.threads ?? 1);
  return opened;
}

/** Waits until `threads` threads are alive and idle. */
export async function warm({ pool, board }: Opened, threads: number): Promise<void> {
  const gate = board.gate();
  const held = Array.from({ length: threads }, () => pool.run('hold', [gate.number]));
  await until(() => gate.begun === threads);
  gate.open();
  await Promise.all(held);
}

/** Makes the pool classify tasks of `hold` as short, so that it sends other tasks to their thread ahead of time. */
export async function makeShort({ pool, board }: Opened): Promise<void> {
  const gate = board.gate();
  gate.open();
  for (let n = 0; n < 100; n++) await pool.run('hold', [gate.number]);
}

/** The reason that a promise was rejected with. */
export async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    const value = await promise;
    throw new Error(`nothing was thrown, but there is ${String(value)}`);
  } catch (error) {
    return error;
  }
}

/** All values of an iterable. */
export async function collect<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const values: T[] = [];
  for await (const value of iterable) values.push(value);
  return values;
}

export const range = (length: number): number[] => Array.from({ length }, (_, n) => n);
