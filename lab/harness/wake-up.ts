/**
 * Measures the cost of waking a thread on an idle core.
 *
 * A thread sleeps in Atomics.wait. After a pause in which the core may sleep too, it is notified and records the time at
 * which it runs. Invariant: both times come from the same monotonic clock.
 */
import { once } from 'node:events';
import { hrtime } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { median } from 'simple-statistics';

const repetitions = 41;
const idleMilliseconds = 12;

const turn = 0;

interface SharedState {
  /** The index of the turn counter, which each notify increments. */
  readonly turns: Int32Array;
  readonly wokenAt: BigInt64Array;
}

function sleepAndNote({ turns, wokenAt }: SharedState): void {
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    Atomics.wait(turns, turn, repetition);
    Atomics.store(wokenAt, 0, hrtime.bigint());
  }
}

/** The median in microseconds from notify to the woken thread running. */
export async function measureWakeUp(): Promise<number> {
  const state: SharedState = {
    turns: new Int32Array(new SharedArrayBuffer(4)),
    wokenAt: new BigInt64Array(new SharedArrayBuffer(8)),
  };
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { wakeUp: state } });
  const exited = once(worker, 'exit');
  await once(worker, 'online');
  const microseconds: number[] = [];
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    await pause(idleMilliseconds);
    Atomics.store(state.wokenAt, 0, 0n);
    const notifiedAt = hrtime.bigint();
    Atomics.store(state.turns, turn, repetition + 1);
    Atomics.notify(state.turns, turn);
    while (Atomics.load(state.wokenAt, 0) === 0n) await pause(1);
    microseconds.push(Number(Atomics.load(state.wokenAt, 0) - notifiedAt) / 1000);
  }
  await exited;
  return median(microseconds);
}

if (!isMainThread && workerData?.wakeUp) sleepAndNote(workerData.wakeUp);
