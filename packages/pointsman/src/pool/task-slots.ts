/**
 * The tasks that one worker has, by number, and which of them it has begun.
 *
 * Invariant: a task is here from when it was handed over until its result is here or it was taken back.
 */

import { turnTime } from '../transport/clock.js';
import { type Claims, SLOT_MASK, SLOTS } from './claims.js';
import type { Task, TaskHolder } from './task.js';

export class TaskSlots {
  /** How many there are: one that runs, and those that wait in the worker. */
  size = 0;
  /** The sum of the tasks' expected times, in milliseconds. */
  expectedTime = 0;
  /** The {@link turnTime} since which the oldest task has been the oldest. */
  busySince = 0;
  readonly #holder: TaskHolder;
  /** Absent where memory cannot be shared: then what was handed over counts as begun. */
  readonly #claims: Claims | undefined;
  readonly #tasks: (Task | undefined)[] = new Array(SLOTS).fill(undefined);
  /** From the oldest on to the next there may be tasks. */
  #oldest = 0;
  #next = 0;

  constructor(holder: TaskHolder, claims: Claims | undefined) {
    this.#holder = holder;
    this.#claims = claims;
  }

  /** Whether there can be another. Without claims nothing waits behind what runs. */
  get hasRoom(): boolean {
    if (this.#claims === undefined) return this.size === 0;
    return this.#tasks[this.#next & SLOT_MASK] === undefined;
  }

  /** Gives a task its number. */
  add(task: Task): number {
    const number = this.#next++;
    task.worker = this.#holder;
    task.number = number;
    this.#tasks[number & SLOT_MASK] = task;
    // It has the slot of an older one, which was taken back.
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
    // Results need not come in order: one that cannot be cloned comes later.
    const tasks = this.#tasks;
    if (task.number === this.#oldest) this.busySince = turnTime();
    while (this.#oldest < this.#next && tasks[this.#oldest & SLOT_MASK] === undefined) {
      this.#oldest++;
    }
  }

  /** Takes a task back that was not begun; whether it was not. */
  takeBack(task: Task): boolean {
    if (!this.#claims?.withdraw(task.number)) return false;
    this.remove(task);
    return true;
  }

  /** Takes so many back, the last first: what was not begun, can be handed over again and is less urgent. */
  giveBack(atMost: number, lessUrgentThan: number): Task[] {
    const back: Task[] = [];
    for (let number = this.#next - 1; number >= this.#oldest && back.length < atMost; number--) {
      const task = this.#tasks[number & SLOT_MASK];
      if (task === undefined || task.isUnique || task.priority >= lessUrgentThan) continue;
      // Behind the one that runs there may be one that came too late and was passed over.
      if (this.takeBack(task)) back.push(task);
    }
    return back;
  }

  /** All of them, the oldest first. */
  list(): Task[] {
    const tasks: Task[] = [];
    for (let number = this.#oldest; number < this.#next; number++) {
      const task = this.#tasks[number & SLOT_MASK];
      if (task !== undefined) tasks.push(task);
    }
    return tasks;
  }
}
