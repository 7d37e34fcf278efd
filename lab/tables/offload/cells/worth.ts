/**
 * When a task is worth handing over: pieces of work of some length, a few or many under way on a thread
 * for each core, against the main thread that does the same by itself.
 *
 * Invariant: a piece is a number of turns, not a time, so that two threads on one core do not seem to
 * do it twice as fast; the main thread is timed with the same turns right before each sample.
 */
import { availableParallelism } from 'node:os';
import { median } from 'simple-statistics';
import type { Cell, Measurement } from '../../../harness/table.js';
import { measureThreadsAlone, threadsAlone } from '../floors/threads-alone.js';
import type { OpenPool } from '../subject.js';
import { poolNamed, pools } from '../subjects/index.js';
import { spin } from '../tasks/functions.js';
import { closedLoop, type Lane } from '../workloads/closed-loop.js';
import { withPool } from './with-pool.js';

/** In microseconds. */
export const lengths = [10, 100, 1_000] as const;

/** With few, the threads have to wait for the main thread to hand over more. */
export const numbersInFlight = [16, 256] as const;

export function worthMeasure(length: number, inFlight: number): string {
  return `${length} µs, ${inFlight} in flight`;
}

const turnsToWarmUp = 1_000;
const samplesPerLength = 3;

export const worthCell: Cell = {
  id: 'worth',
  subjects: [...pools, threadsAlone].map(({ name }) => name),
  expectedMilliseconds: 4_000,
  onlyAskedFor: true,
  async measure(name, { warmupMilliseconds, measureMilliseconds }) {
    const threads = availableParallelism();
    const warmUp = warmupMilliseconds / 2;
    const sample = measureMilliseconds / 3;
    if (name === threadsAlone.name) {
      return compare(measureMilliseconds, (turns) =>
        measureThreadsAlone(threads, turns, { warmUp, sample }),
      );
    }
    return withPool(poolNamed(name), { threads }, async (pool) => {
      const first = { samples: 1, sampleMilliseconds: sample };
      // The pool and the engine; threads start, and find their way of waiting.
      const lanes = lanesOf(pool, turnsToWarmUp, numbersInFlight[0]);
      await closedLoop(lanes, { ...first, warmUpMilliseconds: 8 * warmupMilliseconds });
      return compare(measureMilliseconds, async (turns, inFlight) => {
        const order = { warmUpMilliseconds: warmUp, samples: 1, sampleMilliseconds: sample };
        return median(await closedLoop(lanesOf(pool, turns, inFlight), order));
      });
    });
  },
};

/** `perSecond` finds how many pieces of so many turns are done in a second, so many at any time. */
async function compare(
  milliseconds: number,
  perSecond: (turns: number, inFlight: number) => Promise<number>,
): Promise<Measurement> {
  const perMicrosecond = calibrate(milliseconds / 3);
  const samples: Record<string, readonly number[]> = {};
  for (const length of lengths) {
    const turns = Math.round(perMicrosecond * length);
    for (const inFlight of numbersInFlight) {
      const ratios: number[] = [];
      while (ratios.length < samplesPerLength) {
        const alone = mainThread(turns, milliseconds / 6);
        ratios.push((await perSecond(turns, inFlight)) / alone);
      }
      samples[worthMeasure(length, inFlight)] = ratios;
    }
  }
  return { ok: true, samples };
}

/** Turns per microsecond, once the engine has compiled them. */
function calibrate(milliseconds: number): number {
  const turns = 10_000;
  let done = 0;
  let startedAt = performance.now();
  for (let pass = 0; pass < 2; pass++) {
    done = 0;
    startedAt = performance.now();
    while (performance.now() - startedAt < milliseconds / 2) {
      spin(turns);
      done += turns;
    }
  }
  return done / (1_000 * (performance.now() - startedAt));
}

/** Pieces per second of the main thread, which does nothing else. */
function mainThread(turns: number, milliseconds: number): number {
  const startedAt = performance.now();
  let done = 0;
  do {
    spin(turns);
    done += 1;
  } while (performance.now() - startedAt < milliseconds);
  return (1_000 * done) / (performance.now() - startedAt);
}

function lanesOf(pool: OpenPool, turns: number, inFlight: number): Lane[] {
  const expected = spin(turns);
  return Array.from({ length: inFlight }, () => ({
    ask: () => pool.run('spin', turns),
    check(answer) {
      if (answer !== expected) throw new Error(`answered ${String(answer)} for ${expected}`);
    },
  }));
}
