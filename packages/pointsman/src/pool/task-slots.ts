/**
 * The tasks that were submitted to one worker, by number.
 *
 * Invariant: a task is here from its submission until its result has arrived or it was withdrawn.
 */

import { turnTime } from '../transport/clock.js';
import { type Claims, SLOT_MASK, SLOTS } from './claims.js';
import type { Task, TaskHolder } from './task.js';

export class TaskSlots {
  /** The number of tasks: one that runs, and those that wait in the worker. */
  size = 0;
  /** The sum of the tasks' expected times, in milliseconds. */
  expectedTime = 0;
  /** The {@link turnTime} at which the oldest task became the oldest. */
  busySince = 0;
  readonly #holder: TaskHolder;
  /** Absent where memory cannot be shared: then a submitted task counts as begun. */
  readonly #claims: Claims | undefined;
  readonly #tasks: (Task | undefined)[] = new Array(SLOTS).fill(undefined);
  /** All tasks have numbers from `#oldest` to `#next - 1`; some of these numbers may be free. */
  #oldest = 0;
  #next = 0;

  constructor(holder: TaskHolder, claims: Claims | undefined) {
    this.#holder = holder;
    this.#claims = claims;
  }

  /** Whether another task can be added. Without claims no task waits behind the running one. */
  get hasSpace(): boolean {
    if (this.#claims === undefined) return this.size === 0;
    return this.#tasks[this.#next & SLOT_MASK] === undefined;
  }

  /** Adds a task and returns its number. */
  add(task: Task): number {
    const number = this.#next++;
    task.worker = this.#holder;
    task.number = number;
    this.#tasks[number & SLOT_MASK] = task;
    // The slot may have belonged to an older task that was withdrawn.
    this.#oldest = Math.max(this.#oldest, this.#next - SLOTS);
    if (this.size === 0) this.busySince = turnTime();
    this.size++;
    this.expectedTime += task.expectedTime;
    this.#claims?.offer(number);
    return number;
  }

  get(number: number): Task | undefined {
    const task = this.#tasks[number & SLOT_MASK];
    return task?.number === number ? task : undefined;
  }

  remove(task: Task): void {
    this.#tasks[task.number & SLOT_MASK] = undefined;
    this.size--;
    // Reset when empty, so that rounding errors do not accumulate.
    this.expectedTime = this.size === 0 ? 0 : this.expectedTime - task.expectedTime;
    task.worker = undefined;
    clearTimeout(task.killTimer);
    task.watch?.stopRun();
    // Results may arrive out of order: a result that cannot be cloned is sent later, as an error.
    const tasks = this.#tasks;
    if (task.number === this.#oldest) this.busySince = turnTime();
    while (this.#oldest < this.#next && tasks[this.#oldest & SLOT_MASK] === undefined) {
      this.#oldest++;
    }
  }

  /** Withdraws a task. Returns false if the worker has begun it. */
  withdraw(task: Task): boolean {
    if (!this.#claims?.withdraw(task.number)) return false;
    this.remove(task);
    return true;
  }

  /** Withdraws up to `atMost` tasks, latest first, that have not begun, can be submitted again and are less urgent. */
  giveBack(atMost: number, lessUrgentThan: number): Task[] {
    const back: Task[] = [];
    for (let number = this.#next - 1; number >= this.#oldest && back.length < atMost; number--) {
      const task = this.#tasks[number & SLOT_MASK];
      if (task === undefined || task.isUnique || task.priority >= lessUrgentThan) continue;
      // Not only the oldest may have begun: the worker skips a task whose wait has timed out.
      if (this.withdraw(task)) back.push(task);
    }
    return back;
  }

  /** Returns all tasks, oldest first. */
  list(): Task[] {
    const tasks: Task[] = [];
    for (let number = this.#oldest; number < this.#next; number++) {
      const task = this.#tasks[number & SLOT_MASK];
      if (task !== undefined) tasks.push(task);
    }
    return tasks;
  }
}
