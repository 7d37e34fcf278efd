/**
 * Millions of calls of every kind, from one worker after the other; each is killed while it works. Every call gets its
 * own answer or ends with its bridge, no call hangs, and memory does not grow.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { type Exposed, expose } from 'pointsman/bridge';
import { randomFrom, soakApi, type WorkerApi } from './api.js';

export interface SoakOptions {
  readonly calls: number;
  readonly seed: number;
  readonly workerFile: string;
  log(line: string): void;
}

export interface Soaked {
  readonly calls: number;
  readonly workers: number;
  readonly seconds: number;
  /** Calls of the host to its worker: answered, and ended by the end of a worker. */
  readonly answered: number;
  readonly ended: number;
  /** After each worker, in MB. */
  readonly heap: readonly number[];
  readonly rss: readonly number[];
}

/** Calls, on average, after which a worker is killed. */
const life = 300_000;
/** Milliseconds without a call after which the soak counts as hanging. */
const patience = 20_000;
/** Concurrent calls of the host to its worker. */
const inFlight = 4;

export async function soak(options: SoakOptions): Promise<Soaked> {
  const random = randomFrom(options.seed);
  const began = performance.now();
  const counter = new Int32Array(new SharedArrayBuffer(4));
  const heap: number[] = [];
  const rss: number[] = [];
  let calls = 0;
  let workers = 0;
  let answered = 0;
  let ended = 0;
  const seconds = () => (performance.now() - began) / 1_000;

  async function liveAndDie(most: number): Promise<void> {
    Atomics.store(counter, 0, 0);
    const seed = options.seed + ++workers;
    const worker = new Worker(options.workerFile, { workerData: { seed, counter } });
    let failed: unknown;
    worker.on('error', (error) => {
      failed = error;
    });
    const bridge: Exposed<WorkerApi> = expose(
      worker,
      soakApi((value) => bridge.worker.double(value)),
    );
    await bridge.ready;
    let over = false;
    const asking = Array.from({ length: inFlight }, async (_, first) => {
      for (let number = first; !over; number += inFlight) {
        try {
          const found = await bridge.worker.double(number);
          if (found !== 2 * number) throw new Error(`double: ${found} instead of ${2 * number}`);
          answered++;
        } catch (error) {
          if ((error as Error).name !== 'BridgeClosedError') throw error;
          ended++;
          return;
        }
        // As an application does; the worker also has work of its own.
        await sleep(1);
      }
    });
    let seen = 0;
    let movedAt = performance.now();
    while (failed === undefined) {
      await sleep(20);
      const now = Atomics.load(counter, 0);
      if (now !== seen) {
        seen = now;
        movedAt = performance.now();
      }
      if (now >= most) break;
      if (performance.now() - movedAt > patience) {
        throw new Error(`worker ${workers} hangs after ${now} calls (seed ${seed})`);
      }
    }
    if (failed !== undefined)
      throw new Error(`worker ${workers} (seed ${seed})`, { cause: failed });
    // At an arbitrary point of its work.
    await worker.terminate();
    await bridge.ended;
    over = true;
    await Promise.all(asking);
    calls += Atomics.load(counter, 0);
  }

  while (calls < options.calls) {
    await liveAndDie(Math.min(options.calls - calls, life * (0.5 + random())));
    for (let i = 0; i < 3; i++) {
      globalThis.gc?.();
      // The runtime reports a collected object in a later turn.
      await sleep(5);
    }
    const memory = process.memoryUsage();
    heap.push(memory.heapUsed / 2 ** 20);
    rss.push(memory.rss / 2 ** 20);
    options.log(
      `${(calls / 1e6).toFixed(2)} of ${options.calls / 1e6} million calls, ${workers} workers, ${seconds().toFixed(0)} s; heap ${heap.at(-1)?.toFixed(1)} MB, rss ${rss.at(-1)?.toFixed(0)} MB`,
    );
  }
  return { calls, workers, seconds: seconds(), answered, ended, heap, rss };
}

/** With fewer workers, a trend cannot be distinguished from warm-up. */
export const fewest = 8;

/** Describes the growth of memory, if any: the last workers compared with those after a warm-up. */
export function growth({ heap, rss }: Soaked): string | undefined {
  if (heap.length < fewest) return undefined;
  const quarter = Math.floor(heap.length / 4);
  const compare = (name: string, values: readonly number[], allowed: number) => {
    const early = Math.max(...values.slice(quarter, 2 * quarter));
    const late = Math.min(...values.slice(-quarter));
    if (late < early + allowed) return undefined;
    return `${name} has grown from ${early.toFixed(1)} to ${late.toFixed(1)} MB`;
  };
  return compare('the heap', heap, 4) ?? compare('rss', rss, 64);
}
