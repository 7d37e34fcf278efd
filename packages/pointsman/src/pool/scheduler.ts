/**
 * Which task goes to which worker, and when. No threads are in it: workers are whatever can be handed a
 * task and give it back.
 *
 * Invariants:
 * - No task is handed over behind one that is known to take longer: it waits in the queue, for the worker
 *   that is idle first.
 * - A worker that is still idle a turn later takes over half of the tasks that wait in the worker with most work.
 * - What waits in a worker comes back before anything more urgent has to wait for it.
 * - Neither holds for what cannot be handed over twice, which therefore goes ahead only behind its like.
 *
 * A worker has short tasks ahead so that it need not wait for the host between two of them: about a
 * millisecond of work, by the time that each function has lately taken. More would keep other keys waiting,
 * and save nothing.
 */

import { turnTime } from '../transport/clock.js';
import { soon } from '../transport/event-loop.js';
import { type QueuedTask, TaskQueue } from './queue.js';

/** What it asks of a task. */
export interface ScheduledTask extends QueuedTask {
  /** The function that it runs. */
  readonly name: string;
  /** Whether it is handed over to an idle worker only, so that it begins then. */
  readonly beginsAtOnce: boolean;
  /** Whether it can be handed over only once, so that it cannot come back. */
  readonly isUnique: boolean;
  /** The scheduler's: how many came before it. */
  sequence: number;
  /** The scheduler's: milliseconds that its function has lately taken. */
  expectedTime: number;
}

/** What it asks of a worker. */
export interface ScheduledWorker<Task> {
  /** Tasks that it has: one that runs, and those that wait there. */
  readonly outstanding: number;
  /** The sum of their expected times. */
  readonly expectedTime: number;
  /** Since when the first of them has been the first, as of {@link turnTime}. */
  readonly busySince: number;
  /** Whether it can be handed another. */
  readonly accepts: boolean;
  /** Whether it looks for its next task, so that it need not be woken. */
  readonly spins: boolean;
  /** What all tasks that it has run; undefined if they differ. */
  readonly runsOnly: string | undefined;
  submit(task: Task): void;
  /** The tasks that it has, the oldest first. */
  tasks(): Task[];
  /** Takes back a task that it has not begun; returns whether it has not. */
  withdraw(task: Task): boolean;
  /** Gives back so many of those that it has not begun, the last first; less urgent ones only. */
  giveBack(atMost: number, lessUrgentThan?: number): Task[];
}

/** Milliseconds of work that a worker has ahead. Row: 256 empty tasks in flight. */
const AHEAD = 1;
/** One that runs and one that waits. Row: 1 ms, 16 in flight. */
const LEAST_AHEAD = 2;
/** Milliseconds of a task from which on a wake-up is no cost worth hiding. Nothing is handed over behind it. */
const LONG = 5;
/** Milliseconds that a function is expected to take before it has run. */
const UNKNOWN = 1_000;
/** The most that come back when something urgent comes. Row: 256 empty tasks in flight. */
const MOST_AHEAD = 256;
/** The weight of the last task in a mean: what tasks take may change at any time. */
const WEIGHT = 1 / 8;

/** A mean in which the last times count most. */
const meanOf = (mean: number | undefined, time: number): number =>
  mean === undefined ? time : mean + (time - mean) * WEIGHT;

export class Scheduler<Task extends ScheduledTask, Worker extends ScheduledWorker<Task>> {
  readonly #queue: TaskQueue<Task>;
  #workers: Worker[] = [];
  /** Milliseconds that tasks of each function have lately taken. Only functions that exist are in it. */
  readonly #functionTimes = new Map<string, number>();
  #meanRunTime: number | undefined;
  /** Tasks under way that are more or less urgent than usual. */
  #prioritized = 0;
  #willRebalance = false;
  #nextSequence = 0;

  /** `ageing`: see {@link TaskQueue}. */
  constructor(ageing: number) {
    this.#queue = new TaskQueue(ageing);
  }

  /** Milliseconds that tasks have lately taken, of whichever function. */
  get meanRunTime(): number {
    return this.#meanRunTime ?? UNKNOWN;
  }

  /** Tasks that no worker has. */
  get queued(): number {
    return this.#queue.size;
  }

  /** Tasks that wait, in the queue or behind another one. */
  get waiting(): number {
    let waiting = this.#queue.size;
    for (const { outstanding } of this.#workers) waiting += Math.max(0, outstanding - 1);
    return waiting;
  }

  /** Workers that have nothing to do. */
  get idle(): number {
    let idle = 0;
    for (const { accepts, outstanding } of this.#workers) {
      if (accepts && outstanding === 0) idle++;
    }
    return idle;
  }

  // --- tasks ---

  add(task: Task): void {
    task.sequence = this.#nextSequence++;
    task.expectedTime = this.#functionTimes.get(task.name) ?? UNKNOWN;
    if (task.priority !== 0) this.#prioritized++;
    if (this.#isMixed) this.#recall(task.priority);
    else if (this.#queue.size === 0) {
      const worker = this.#workerFor(task);
      if (worker !== undefined) {
        worker.submit(task);
        return;
      }
    }
    this.#queue.push(task);
    if (this.#isMixed) this.dispatch();
  }

  /** Takes a task out that no worker has. */
  remove(task: Task): void {
    this.#queue.remove(task);
  }

  /** Of the tasks of the lowest priority, takes out the one that has waited longest, in the queue or in a worker. */
  dropOldest(): Task | undefined {
    const candidates = this.#workers.flatMap((worker) =>
      worker
        .tasks()
        .slice(1)
        .map((task) => ({ task, takeOut: () => worker.withdraw(task) })),
    );
    const queued = this.#queue.oldestOfLowest();
    if (queued !== undefined) {
      candidates.push({ task: queued, takeOut: () => this.#queue.remove(queued) });
    }
    return candidates
      .sort(({ task: a }, { task: b }) => a.priority - b.priority || a.sequence - b.sequence)
      .find(({ takeOut }) => takeOut())?.task;
  }

  /** Takes out all tasks that no worker has. */
  *drain(): Iterable<Task> {
    for (let task = this.#queue.shift(); task; task = this.#queue.shift()) yield task;
  }

  /** These have come back from workers. They go before all that has come later. */
  putBack(tasks: Task[]): void {
    tasks.sort((a, b) => b.sequence - a.sequence);
    for (const task of tasks) this.#queue.unshift(task);
  }

  /** A worker has run a task of this function for so many milliseconds. */
  ran(name: string, time: number): void {
    this.#meanRunTime = meanOf(this.#meanRunTime, time);
    this.#functionTimes.set(name, meanOf(this.#functionTimes.get(name), time));
  }

  /** A task is over, whether or not it has run. */
  over(task: Task): void {
    if (task.priority !== 0) this.#prioritized--;
  }

  /** Whether tasks may differ in how urgent they are. */
  get #isMixed(): boolean {
    return this.#prioritized > 0;
  }

  /** Hands over as much as may be. */
  dispatch(): void {
    const queue = this.#queue;
    for (let task = queue.shift(); task !== undefined; task = queue.shift()) {
      const worker = this.#workerFor(task);
      if (worker === undefined) {
        queue.unshift(task);
        return;
      }
      worker.submit(task);
    }
    this.#rebalanceSoon();
  }

  // --- workers ---

  addWorker(worker: Worker): void {
    // The first that is idle gets a task, so one that spins for it comes first.
    if (worker.spins) this.#workers.unshift(worker);
    else this.#workers.push(worker);
    this.dispatch();
  }

  removeWorker(worker: Worker): void {
    this.#workers = this.#workers.filter((each) => each !== worker);
  }

  /** An idle worker, else of those in which it may wait the one that has fewest tasks. */
  #workerFor(task: Task): Worker | undefined {
    let best: Worker | undefined;
    for (const worker of this.#workers) {
      const { outstanding } = worker;
      if (outstanding === 0 && worker.accepts) return worker;
      if (best !== undefined && outstanding >= best.outstanding) continue;
      if (this.#mayWaitIn(worker, task) && worker.accepts) best = worker;
    }
    return best;
  }

  /**
   * A task that cannot come back stays where it is, whatever runs there. So it goes ahead only where tasks are
   * short, and only behind others of its own function. Row: 1 MB transferred, 16 in flight.
   */
  #mayWaitIn(worker: Worker, { name, isUnique, beginsAtOnce, expectedTime }: Task): boolean {
    const { outstanding } = worker;
    if (beginsAtOnce || outstanding >= MOST_AHEAD) return false;
    // What it runs takes longer than its function usually does.
    if (turnTime() - worker.busySince > LONG) return false;
    if (isUnique && worker.runsOnly !== name) return false;
    if (outstanding < LEAST_AHEAD && !isUnique) {
      return worker.expectedTime <= Math.max(AHEAD, Math.min(LONG, expectedTime));
    }
    return (isUnique || !this.#isMixed) && worker.expectedTime + expectedTime <= AHEAD;
  }

  /** What is less urgent comes back. */
  #recall(priority: number): void {
    const back = this.#workers.flatMap((worker) =>
      worker.outstanding > 1 ? worker.giveBack(MOST_AHEAD, priority) : [],
    );
    this.putBack(back);
  }

  /** In a turn of its own: the caller that has just got a result may have another task for the worker. */
  #rebalanceSoon(): void {
    if (this.#willRebalance || !this.#isUneven) return;
    this.#willRebalance = true;
    soon(() => {
      this.#willRebalance = false;
      if (!this.#isUneven) return;
      const busiest = this.#busiest;
      if (busiest === undefined) return;
      // All but the one that runs have come too late if the worker is nearly done.
      const back = busiest.giveBack(Math.ceil((busiest.outstanding - 1) / 2));
      if (back.length === 0) return;
      this.putBack(back);
      this.dispatch();
    });
  }

  /** Whether a task waits behind another while a worker is idle. */
  get #isUneven(): boolean {
    let isIdle = false;
    let isBehind = false;
    for (const { outstanding, accepts } of this.#workers) {
      if (outstanding === 0 && accepts) isIdle = true;
      if (outstanding > 1) isBehind = true;
    }
    return isIdle && isBehind;
  }

  /** Of the workers in which a task waits, the one with most work. */
  get #busiest(): Worker | undefined {
    let busiest: Worker | undefined;
    for (const worker of this.#workers) {
      if (worker.outstanding < 2) continue;
      if (busiest === undefined || worker.expectedTime > busiest.expectedTime) busiest = worker;
    }
    return busiest;
  }
}
