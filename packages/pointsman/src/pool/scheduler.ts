/**
 * Decides which worker runs which task, and when. The scheduler knows nothing of threads: a worker is an object that
 * accepts tasks and returns those that it has not begun.
 *
 * Invariants:
 * - A task is never submitted behind one that is known to take longer; it waits in the queue for the first idle worker.
 * - A worker that is still idle one turn later takes over half of the tasks that wait in the worker with the most work.
 * - A task that waits in a worker returns to the queue before a more urgent task has to wait for it.
 * - The last two do not hold for tasks that can be submitted only once; they wait only behind tasks of their function.
 *
 * Short tasks are submitted ahead of time, so that a worker need not wait for the host between them: about a
 * millisecond of work, estimated from the recent run times of each function. More would delay other keys without
 * saving time.
 */

import { turnTime } from '../transport/clock.js';
import { soon } from '../transport/event-loop.js';
import { type QueuedTask, TaskQueue } from './queue.js';

/** A task as the scheduler sees it. */
export interface ScheduledTask extends QueuedTask {
  /** The name of its function. */
  readonly name: string;
  /** Whether it is submitted only to an idle worker, so that it begins at once. */
  readonly beginsAtOnce: boolean;
  /** Whether it can be submitted only once, so that it cannot be withdrawn. */
  readonly isUnique: boolean;
  /** Set by the scheduler: the order of arrival. */
  sequence: number;
  /** Set by the scheduler: the recent mean run time of its function, in milliseconds. */
  expectedTime: number;
}

/** A worker as the scheduler sees it. */
export interface ScheduledWorker<Task> {
  /** The number of its tasks: one that runs, and those that wait in it. */
  readonly outstanding: number;
  /** The sum of the expected times of its tasks. */
  readonly expectedTime: number;
  /** The {@link turnTime} at which its oldest task became the oldest. */
  readonly busySince: number;
  /** Whether it accepts another task. */
  readonly accepts: boolean;
  /** Whether it spins for its next task, so that it need not be woken. */
  readonly spins: boolean;
  /** The function of all its tasks; undefined if they differ. */
  readonly runsOnly: string | undefined;
  submit(task: Task): void;
  /** Returns its tasks, oldest first. */
  tasks(): Task[];
  /** Withdraws a task. Returns false if the worker has begun it. */
  withdraw(task: Task): boolean;
  /** Withdraws up to `atMost` tasks that it has not begun and that are less urgent, latest first, and returns them. */
  giveBack(atMost: number, lessUrgentThan?: number): Task[];
}

/** Milliseconds of work submitted to a worker ahead of time. Row: 256 empty tasks in flight. */
const AHEAD = 1;
/** The running task and one that waits. Row: 1 ms, 16 in flight. */
const MIN_AHEAD = 2;
/** Milliseconds. No task is submitted behind a longer one: a wake-up after it costs little in comparison. */
const LONG = 5;
/** The expected run time, in milliseconds, of a function that has not run yet. */
const UNKNOWN = 1_000;
/** Maximum number of tasks submitted to a worker ahead of time. Row: 256 empty tasks in flight. */
const MAX_AHEAD = 256;
/** The weight of the latest task in a moving mean: run times may change at any time. */
const WEIGHT = 1 / 8;

/** Returns an exponential moving mean. */
const meanOf = (mean: number | undefined, time: number): number =>
  mean === undefined ? time : mean + (time - mean) * WEIGHT;

export class Scheduler<Task extends ScheduledTask, Worker extends ScheduledWorker<Task>> {
  readonly #queue: TaskQueue<Task>;
  #workers: Worker[] = [];
  /** The recent mean run time of each function, in milliseconds. Contains only functions that exist. */
  readonly #functionTimes = new Map<string, number>();
  #meanRunTime: number | undefined;
  /** The number of unfinished tasks with a priority other than 0. */
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

  /** The number of tasks in the queue. */
  get queued(): number {
    return this.#queue.size;
  }

  /** The number of tasks that wait, in the queue or in a worker. */
  get waiting(): number {
    let waiting = this.#queue.size;
    for (const { outstanding } of this.#workers) waiting += Math.max(0, outstanding - 1);
    return waiting;
  }

  /** The number of idle workers. */
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

  /** Removes a task from the queue. */
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

  /** Removes all tasks from the queue. */
  *drain(): Iterable<Task> {
    for (let task = this.#queue.shift(); task; task = this.#queue.shift()) yield task;
  }

  /** Returns withdrawn tasks to the queue, before all later ones. */
  putBack(tasks: Task[]): void {
    tasks.sort((a, b) => b.sequence - a.sequence);
    for (const task of tasks) this.#queue.unshift(task);
  }

  /** Records that a worker has run a task of this function for `time` milliseconds. */
  ran(name: string, time: number): void {
    this.#meanRunTime = meanOf(this.#meanRunTime, time);
    this.#functionTimes.set(name, meanOf(this.#functionTimes.get(name), time));
  }

  /** Called when a task has finished or was removed. */
  over(task: Task): void {
    if (task.priority !== 0) this.#prioritized--;
  }

  /** Whether tasks may have different priorities. */
  get #isMixed(): boolean {
    return this.#prioritized > 0;
  }

  /** Submits as many tasks as workers accept. */
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
    // The first idle worker gets the next task, and a spinning one needs no wake-up.
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
   * Returns whether a task may wait in a busy worker. A task that cannot be withdrawn may do so only behind short tasks
   * of its own function. Row: 1 MB transferred, 16 in flight.
   */
  #mayWaitIn(worker: Worker, { name, isUnique, beginsAtOnce, expectedTime }: Task): boolean {
    const { outstanding } = worker;
    if (beginsAtOnce || outstanding >= MAX_AHEAD) return false;
    // The running task takes longer than its function usually does.
    if (turnTime() - worker.busySince > LONG) return false;
    if (isUnique && worker.runsOnly !== name) return false;
    if (outstanding < MIN_AHEAD && !isUnique) {
      return worker.expectedTime <= Math.max(AHEAD, Math.min(LONG, expectedTime));
    }
    return (isUnique || !this.#isMixed) && worker.expectedTime + expectedTime <= AHEAD;
  }

  /** Withdraws less urgent tasks from all workers. */
  #recall(priority: number): void {
    const back = this.#workers.flatMap((worker) =>
      worker.outstanding > 1 ? worker.giveBack(MAX_AHEAD, priority) : [],
    );
    this.putBack(back);
  }

  /** Rebalances in a later turn: the caller that has just received a result may submit another task. */
  #rebalanceSoon(): void {
    if (this.#willRebalance || !this.#isUneven) return;
    this.#willRebalance = true;
    soon(() => {
      this.#willRebalance = false;
      if (!this.#isUneven) return;
      const busiest = this.#busiest;
      if (busiest === undefined) return;
      // Empty if the worker has begun them meanwhile.
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
