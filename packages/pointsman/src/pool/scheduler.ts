/**
 * Which task goes to which worker, and when. No threads are in it: workers are whatever can be handed a
 * task and give it back.
 *
 * Invariants:
 * - No task is handed to a worker behind one that is known to take longer: it waits in the queue for the first
 *   idle worker.
 * - A worker that is still idle a turn later takes over half of the tasks that wait in the worker with the most work.
 * - What waits in a worker comes back before anything more urgent has to wait for it.
 * - Neither holds for what cannot be handed over twice, which therefore goes ahead only behind its like.
 *
 * A worker has short tasks ahead so that it need not wait for the host between two of them: about a
 * millisecond of work, estimated from the recent run times of each function. More would keep other keys waiting
 * without saving time.
 */

import { turnTime } from '../transport/clock.js';
import { soon } from '../transport/event-loop.js';
import { type QueuedTask, TaskQueue } from './queue.js';

/** What it asks of a task. */
export interface ScheduledTask extends QueuedTask {
  /** The name of its function. */
  readonly name: string;
  /** Whether it is handed over only to an idle worker, so that it begins at once. */
  readonly beginsAtOnce: boolean;
  /** Whether it can be handed over only once, so that it cannot come back. */
  readonly isUnique: boolean;
  /** The scheduler's: how many came before it. */
  sequence: number;
  /** Set by the scheduler: the recent mean run time of its function, in milliseconds. */
  expectedTime: number;
}

/** What it asks of a worker. */
export interface ScheduledWorker<Task> {
  /** Tasks that it has: one that runs, and those that wait there. */
  readonly outstanding: number;
  /** The sum of their expected times. */
  readonly expectedTime: number;
  /** The {@link turnTime} since which the first of its tasks has been the first. */
  readonly busySince: number;
  /** Whether it can be handed another. */
  readonly accepts: boolean;
  /** Whether it looks for its next task, so that it need not be woken. */
  readonly spins: boolean;
  /** What all tasks that it has run; undefined if they differ. */
  readonly runsOnly: string | undefined;
  submit(task: Task): void;
  /** Its tasks, the oldest first. */
  tasks(): Task[];
  /** Takes back a task that the worker has not begun; returns whether it has not. */
  withdraw(task: Task): boolean;
  /** Gives back so many of those that it has not begun, the last first; less urgent ones only. */
  giveBack(atMost: number, lessUrgentThan?: number): Task[];
}

/** Milliseconds of work that a worker has ahead. Row: 256 empty tasks in flight. */
const AHEAD = 1;
/** One that runs and one that waits. Row: 1 ms, 16 in flight. */
const LEAST_AHEAD = 2;
/** Milliseconds from which on a task is long: a wake-up after it costs little, so no task is handed over behind it. */
const LONG = 5;
/** The expected run time, in milliseconds, of a function that has not run yet. */
const UNKNOWN = 1_000;
/** The most that come back when something urgent comes. Row: 256 empty tasks in flight. */
const MOST_AHEAD = 256;
/** The weight of the latest task in a moving mean: run times may change at any time. */
const WEIGHT = 1 / 8;

/** An exponential moving mean. */
const meanOf = (mean: number | undefined, time: number): number =>
  mean === undefined ? time : mean + (time - mean) * WEIGHT;

export class Scheduler<Task extends ScheduledTask, Worker extends ScheduledWorker<Task>> {
  readonly #queue: TaskQueue<Task>;
  #workers: Worker[] = [];
  /** The recent mean run time of each function, in milliseconds. Contains only functions that exist. */
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

  /** The recent mean run time of all tasks, in milliseconds. */
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

  /** Removes the task of the lowest priority that has waited longest, from the queue or from a worker. */
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

  /** Records that a worker has run a task of this function for `time` milliseconds. */
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

  /** Returns an idle worker, otherwise the worker with the fewest tasks among those in which it may wait. */
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
   * A task that cannot be taken back stays in its worker behind any task that runs there. So it is handed over ahead of time only
   * behind short tasks of its own function. Row: 1 MB transferred, 16 in flight.
   */
  #mayWaitIn(worker: Worker, { name, isUnique, beginsAtOnce, expectedTime }: Task): boolean {
    const { outstanding } = worker;
    if (beginsAtOnce || outstanding >= MOST_AHEAD) return false;
    // The running task takes longer than its function usually does.
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

  /** Runs in a later turn: the caller that has just got a result may have another task for the worker. */
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

  /** Returns the worker with the most work among those in which a task waits. */
  get #busiest(): Worker | undefined {
    let busiest: Worker | undefined;
    for (const worker of this.#workers) {
      if (worker.outstanding < 2) continue;
      if (busiest === undefined || worker.expectedTime > busiest.expectedTime) busiest = worker;
    }
    return busiest;
  }
}
