/**
 * The queue of tasks that wait for a thread.
 *
 * A level per priority contains a lane per key, and a lane contains its tasks in FIFO order. The lanes of a level take
 * turns. The levels are ordered by the rank of their next task: its arrival time, minus `ageing` milliseconds for each
 * step of priority. So a task that waits long enough precedes all later tasks of any priority, and the order of two
 * tasks never changes.
 *
 * Each operation takes time logarithmic in the number of priorities, independent of the number of tasks: the tasks
 * contain the links, so any task can be removed in one step.
 *
 * Invariant: a level or a lane is in the queue exactly as long as it contains a task. The lane that was used last is
 * kept when it is empty, so a pool with one priority and no keys, the common case, makes no garbage.
 */

import { LevelHeap, type Placed } from './level-heap.js';

/** A task in the queue. The queue owns the links, which are `undefined` while the task is not queued. */
export interface QueuedTask {
  /** Higher priorities go first. */
  readonly priority: number;
  /** The key of the task; tasks without a key have `undefined` and share a lane. */
  readonly key: unknown;
  /** The arrival time, in milliseconds. */
  readonly enqueuedAt: number;
  lane: Lane | undefined;
  /** The neighbours in the lane. */
  previous: QueuedTask | undefined;
  next: QueuedTask | undefined;
  /** The neighbours in the level, by arrival. */
  earlier: QueuedTask | undefined;
  later: QueuedTask | undefined;
}

/** The tasks of one key in a level. The lanes of a level form a ring. */
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

/** The tasks of one priority. */
class Level implements Placed {
  readonly places = { byTurn: 0, byPriority: 0 };
  /** The lane whose turn it is. */
  turn: Lane | undefined = undefined;
  earliest: QueuedTask | undefined = undefined;
  latest: QueuedTask | undefined = undefined;
  /** The lane of tasks without a key, which needs no lookup. */
  readonly common = new Lane(this, undefined);
  readonly lanes = new Map<unknown, Lane>();

  constructor(readonly priority: number) {}
}

export type { Lane };

/** Returns the next task of a level that is not empty. */
const nextOf = (level: Level): QueuedTask => level.turn?.first as QueuedTask;

export class TaskQueue<Task extends QueuedTask> {
  size = 0;
  readonly #ageing: number;
  readonly #levels = new Map<number, Level>();
  /** Ordered by next task: the first level contains the next task of the queue. */
  readonly #byTurn = new LevelHeap<Level>('byTurn', (level, other) =>
    this.#isBefore(nextOf(level), nextOf(other)),
  );
  /** Ordered by priority: the first level has the lowest. */
  readonly #byPriority = new LevelHeap<Level>(
    'byPriority',
    (level, other) => level.priority < other.priority,
  );
  /** The lane that was used last; the only one that may be empty. */
  #lane = new Level(0).common;

  /** `ageing`: the milliseconds of waiting that are worth one step of priority. */
  constructor(ageing: number) {
    this.#ageing = ageing;
  }

  /** Appends a task to its lane. A lane that was empty gets its turn after the others. */
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
   * Returns a removed task to the front of its lane, and gives the lane the turn. Tasks must be returned in the reverse
   * order of their removal, which restores the queue. A returned task counts as the earliest of its level.
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

  /** Removes and returns the next task. */
  shift(): Task | undefined {
    const level = this.#byTurn.first;
    if (level === undefined) return undefined;
    const next = nextOf(level);
    const lane = next.lane as Lane;
    level.turn = lane.next;
    this.#unlink(next, lane);
    return next as Task;
  }

  /** Removes a task. Returns false if it is not queued. */
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

  /** Compares tasks of different levels. By the difference of their ranks, so that `ageing` may be infinite. */
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

  /** Inserts a lane after all others of its level. */
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
