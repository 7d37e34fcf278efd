/**
 * Which task goes to which worker, and when. No threads are in it: workers are whatever can be handed a
 * task and give it back.
 *
 * Invariants:
 * - A worker that is still idle a turn later takes over half of what waits in the worker that has most.
 * - What waits in a worker comes back before anything more urgent has to wait for it.
 * - Neither holds for what cannot be handed over twice, which therefore goes ahead only behind its like.
 *
 * A worker has short tasks ahead so that it need not wait for the host between two of them: about a
 * millisecond of work, by what tasks have lately taken. More would keep other keys waiting, and save nothing.
 */

import { soon } from '../transport/event-loop.js';
import { type QueuedTask, TaskQueue } from './queue.js';

/** What it asks of a task. */
export interface ScheduledTask extends QueuedTask {
  /** What it runs. */
  readonly name: string;
  /** Whether it can be handed over only once, so that it cannot come back. */
  readonly isUnique: boolean;
  /** The scheduler's: how many came before it. */
  sequence: number;
}

/** What it asks of a worker. */
export interface ScheduledWorker<Task> {
  /** Tasks that it has: one that runs, and those that wait there. */
  readonly outstanding: number;
  /** Whether it can be handed another. */
  readonly accepts: boolean;
  /** Whether it looks for its next task, so that it need not be woken. */
  readonly spins: boolean;
  /** What all tasks that it has run; undefined if they differ. */
  readonly runsOnly: string | undefined;
  submit(task: Task): void;
  /** Gives back so many of those that it has not begun, the last first; less urgent ones only. */
  giveBack(atMost: number, lessUrgentThan?: number): Task[];
}

/** Milliseconds of work that a worker has ahead. Row: 256 empty tasks in flight. */
const AHEAD = 1;
/** One that runs and one that waits. Row: 1 ms, 16 in flight. */
const LEAST_AHEAD = 2;
/** Milliseconds from which on a task hides no wake-up worth mentioning, and begins in its turn wherever that is. */
const LONG = 5;
/** The most that come back when something urgent comes. Row: 256 empty tasks in flight. */
const MOST_AHEAD = 256;
/** The weight of the last task in what tasks take: kinds of tasks may change any time. */
const WEIGHT = 1 / 8;

export class Scheduler<Task extends ScheduledTask, Worker extends ScheduledWorker<Task>> {
  readonly #queue: TaskQueue<Task>;
  #workers: Worker[] = [];
  /** Milliseconds that tasks have lately taken; at first nobody knows, so they may be long. */
  meanRunTime = Number.POSITIVE_INFINITY;
  /** Tasks under way that are more or less urgent than usual. */
  #prioritized = 0;
  #willRebalance = false;
  #nextSequence = 0;

  /** `ageing`: see {@link TaskQueue}. */
  constructor(ageing: number) {
    this.#queue = new TaskQueue(ageing);
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

  /** Takes out the task that would be begun last, wherever it waits, to make room. */
  removeLast(): Task | undefined {
    this.#recall(Number.POSITIVE_INFINITY);
    const last = this.#queue.last();
    if (last) this.#queue.remove(last);
    this.dispatch();
    return last;
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

  /** A worker has run a task for so many milliseconds. */
  ran(time: number): void {
    const mean = this.meanRunTime;
    this.meanRunTime = mean === Number.POSITIVE_INFINITY ? time : mean + (time - mean) * WEIGHT;
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

  /** An idle worker, else the one that has fewest, if it may have more. */
  #workerFor(task: Task): Worker | undefined {
    const { isUnique, name } = task;
    const most = isUnique ? this.#mostUnique : this.#mostAhead;
    let best: Worker | undefined;
    for (const worker of this.#workers) {
      const { outstanding } = worker;
      if (outstanding === 0 && worker.accepts) return worker;
      if (outstanding >= most || !worker.accepts) continue;
      if (isUnique && worker.runsOnly !== name) continue;
      if (best === undefined || outstanding < best.outstanding) best = worker;
    }
    return best;
  }

  get #mostAhead(): number {
    if (this.meanRunTime > LONG) return 1;
    return this.#isMixed ? LEAST_AHEAD : Math.max(LEAST_AHEAD, this.#mostUnique);
  }

  /**
   * What cannot come back stays where it is, whatever runs there. So it goes ahead only where tasks are short,
   * and only behind others of its own function, of which that is known. Row: 1 MB transferred, 16 in flight.
   */
  get #mostUnique(): number {
    return Math.min(MOST_AHEAD, AHEAD / this.meanRunTime);
  }

  /** What is less urgent comes back. */
  #recall(priority: number): void {
    const back = this.#workers.flatMap((worker) =>
      worker.outstanding > 1 ? worker.giveBack(MOST_AHEAD, priority) : [],
    );
    this.putBack(back);
  }

  /** In a turn of its own: whoever has just had a result may have more to do for the worker. */
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

  get #busiest(): Worker | undefined {
    let busiest: Worker | undefined;
    for (const worker of this.#workers) {
      if (worker.outstanding > (busiest?.outstanding ?? 1)) busiest = worker;
    }
    return busiest;
  }
}
