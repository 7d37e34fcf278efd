/**
 * The tasks that wait for a thread.
 *
 * A level for each priority, in it a lane for each key, in it the tasks as they came. Which level is
 * next is a matter of its next task: of when it came, less `ageing` milliseconds for each step of its
 * priority. So a task that waits long enough goes before all later tasks of any priority, and
 * the order of two tasks never changes. In a level the lanes take turns.
 *
 * Each operation takes time logarithmic in the number of priorities, independent of the number of tasks.
 *
 * Invariant: a level and a lane are part of the queue for exactly as long as they hold a task. What
 * was used last is used again when it has become empty, so that tasks of one priority and key, which is
 * how most pools are used, make no garbage. The links are in the tasks, so each leaves in one step.
 */

import { LevelHeap, type Placed } from './level-heap.js';

/** A task that can wait. The queue owns all of its links; they are `undefined` outside of it. */
export interface QueuedTask {
  /** Higher goes first. */
  readonly priority: number;
  /** Whose task it is. Those of nobody have `undefined` and are in one lane. */
  readonly key: unknown;
  /** When it came, in milliseconds. */
  readonly enqueuedAt: number;
  /** The lane in which it stands. */
  lane: Lane | undefined;
  /** Its neighbours in the lane. */
  previous: QueuedTask | undefined;
  next: QueuedTask | undefined;
  /** Its neighbours in the level, in the order in which they came. */
  earlier: QueuedTask | undefined;
  later: QueuedTask | undefined;
}

/** The tasks of a key in a level. The lanes of a level are a ring. */
class Lane {
  first: QueuedTask | undefined = undefined;
  last: QueuedTask | undefined = undefined;
  previous: Lane = this;
  next: Lane = this;

  constructor(
    readonly level: Level,
    readonly key: unknown,
  ) {}
}

/** The tasks of a priority. */
class Level implements Placed {
  readonly places = { byTurn: 0, byPriority: 0 };
  /** The lane that is next. */
  turn: Lane | undefined = undefined;
  earliest: QueuedTask | undefined = undefined;
  latest: QueuedTask | undefined = undefined;
  /** The lane of those without a key, which need not be looked up. */
  readonly common = new Lane(this, undefined);
  readonly lanes = new Map<unknown, Lane>();

  constructor(readonly priority: number) {}
}

export type { Lane };

/** The next task of a level that is not empty. */
const nextOf = (level: Level): QueuedTask => level.turn?.first as QueuedTask;

export class TaskQueue<Task extends QueuedTask> {
  size = 0;
  readonly #ageing: number;
  readonly #levels = new Map<number, Level>();
  /** Ordered by next task: the first level has the task that goes first. */
  readonly #byTurn = new LevelHeap<Level>('byTurn', (level, other) =>
    this.#isBefore(nextOf(level), nextOf(other)),
  );
  /** Ordered by priority: the first level has the lowest. */
  readonly #byPriority = new LevelHeap<Level>(
    'byPriority',
    (level, other) => level.priority < other.priority,
  );
  /** The lane that was used last. It alone may be empty. */
  #lane = new Level(0).common;

  /** `ageing`: how many milliseconds of waiting count as much as one step of priority. */
  constructor(ageing: number) {
    this.#ageing = ageing;
  }

  /** Puts a task at the end of its lane. A lane that was empty gets its turn after all others. */
  push(task: Task): void {
    const lane = this.#laneOf(task);
    const { level, last } = lane;
    task.lane = lane;
    task.previous = last;
    if (last === undefined) {
      this.#enterRing(lane);
      lane.first = task;
    } else {
      last.next = task;
    }
    lane.last = task;
    const { latest } = level;
    task.earlier = latest;
    level.latest = task;
    if (latest === undefined) {
      level.earliest = task;
      this.#open(level);
    } else {
      latest.later = task;
    }
    this.size += 1;
  }

  /**
   * Puts back a task that was taken out: it is the first of its lane, and it is that lane's turn. Of
   * several, the one that was taken out last has to be put back first; then all is as it was. A task
   * that was put back counts as the earliest of its level.
   */
  unshift(task: Task): void {
    const lane = this.#laneOf(task);
    const { level, first } = lane;
    task.lane = lane;
    task.next = first;
    if (first === undefined) {
      this.#enterRing(lane);
      lane.last = task;
    } else {
      first.previous = task;
      if (level.turn !== lane) {
        this.#leaveRing(lane);
        this.#enterRing(lane);
      }
    }
    lane.first = task;
    level.turn = lane;
    const { earliest } = level;
    task.later = earliest;
    level.earliest = task;
    if (earliest === undefined) {
      level.latest = task;
      this.#open(level);
    } else {
      earliest.earlier = task;
      this.#byTurn.update(level);
    }
    this.size += 1;
  }

  /** Takes out the task that is next. */
  shift(): Task | undefined {
    const level = this.#byTurn.first;
    if (level === undefined) return undefined;
    const next = nextOf(level);
    const lane = next.lane as Lane;
    level.turn = lane.next;
    this.#unlink(next, lane);
    return next as Task;
  }

  /** Takes out a task, wherever it stands. False if it does not wait. */
  remove(task: Task): boolean {
    const { lane } = task;
    if (lane === undefined) return false;
    this.#unlink(task, lane);
    return true;
  }

  /** Returns the task of the lowest priority that has waited longest. */
  oldestOfLowest(): Task | undefined {
    return this.#byPriority.first?.earliest as Task | undefined;
  }

  /** Of two tasks of different levels. A difference, so that `ageing` may be infinite. */
  #isBefore(task: QueuedTask, other: QueuedTask): boolean {
    const steps = task.priority - other.priority;
    const lead = steps * this.#ageing - (task.enqueuedAt - other.enqueuedAt);
    return lead > 0 || (lead === 0 && steps > 0);
  }

  #laneOf({ priority, key }: QueuedTask): Lane {
    const recent = this.#lane;
    if (recent.key === key && recent.level.priority === priority) return recent;
    const level =
      this.#levels.get(priority) ??
      (recent.level.priority === priority ? recent.level : new Level(priority));
    this.#lane = key === undefined ? level.common : (level.lanes.get(key) ?? new Lane(level, key));
    return this.#lane;
  }

  /** Adds a level to the queue when it gets its first task. */
  #open(level: Level): void {
    this.#levels.set(level.priority, level);
    this.#byTurn.insert(level);
    this.#byPriority.insert(level);
  }

  #unlink(task: QueuedTask, lane: Lane): void {
    const { previous, next, earlier, later } = task;
    const { level } = lane;
    if (earlier === undefined) level.earliest = later;
    else earlier.later = later;
    if (later === undefined) level.latest = earlier;
    else later.earlier = earlier;
    if (previous === undefined) lane.first = next;
    else previous.next = next;
    if (next === undefined) lane.last = previous;
    else next.previous = previous;
    if (lane.first === undefined) this.#leaveRing(lane);
    if (level.turn !== undefined) this.#byTurn.update(level);
    else this.#close(level);
    task.lane = undefined;
    task.previous = undefined;
    task.next = undefined;
    task.earlier = undefined;
    task.later = undefined;
    this.size -= 1;
  }

  #close(level: Level): void {
    this.#levels.delete(level.priority);
    this.#byTurn.remove(level);
    this.#byPriority.remove(level);
  }

  /** Puts a lane behind all others of its level. */
  #enterRing(lane: Lane): void {
    const { level, key } = lane;
    const { turn } = level;
    if (key !== undefined) level.lanes.set(key, lane);
    if (turn === undefined) {
      level.turn = lane;
      return;
    }
    lane.next = turn;
    lane.previous = turn.previous;
    lane.previous.next = lane;
    turn.previous = lane;
  }

  #leaveRing(lane: Lane): void {
    const { level, key, previous, next } = lane;
    if (key !== undefined) level.lanes.delete(key);
    if (level.turn === lane) level.turn = next === lane ? undefined : next;
    previous.next = next;
    next.previous = previous;
    lane.previous = lane;
    lane.next = lane;
  }
}
