/** Which task goes to which worker: the rules, without threads. */
import { nextMacrotask } from '@pointsman/spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { turnTime } from '../transport/clock.js';
import type { QueuedTask } from './queue.js';
import { type ScheduledTask, type ScheduledWorker, Scheduler } from './scheduler.js';

class Task implements ScheduledTask {
  lane: QueuedTask['lane'] = undefined;
  previous: QueuedTask['previous'] = undefined;
  next: QueuedTask['next'] = undefined;
  earlier: QueuedTask['earlier'] = undefined;
  later: QueuedTask['later'] = undefined;
  sequence = 0;
  expectedTime = 0;
  readonly enqueuedAt = 0;
  readonly key = undefined;

  constructor(
    readonly name: string,
    readonly priority = 0,
    readonly isUnique = false,
    readonly beginsAtOnce = false,
  ) {}
}

/** Runs nothing by itself: the test says when a task begins and ends. */
class Worker implements ScheduledWorker<Task> {
  readonly spins = false;
  accepts = true;
  /** The first of them runs. */
  readonly held: Task[] = [];

  get busySince(): number {
    return turnTime() - this.busyFor;
  }

  get outstanding(): number {
    return this.held.length;
  }

  get expectedTime(): number {
    return this.held.reduce((sum, { expectedTime }) => sum + expectedTime, 0);
  }

  /** Milliseconds for which its oldest task has been the oldest. */
  busyFor = 0;

  tasks(): Task[] {
    return [...this.held];
  }

  withdraw(task: Task): boolean {
    const at = this.held.indexOf(task);
    if (at < 1) return false;
    this.held.splice(at, 1);
    return true;
  }

  get runsOnly(): string | undefined {
    const [first, ...others] = new Set(this.held.map(({ name }) => name));
    return others.length === 0 ? first : undefined;
  }

  get names(): string {
    return this.held.map(({ name }) => name).join(' ');
  }

  submit(task: Task): void {
    this.held.push(task);
  }

  giveBack(atMost: number, lessUrgentThan = Number.POSITIVE_INFINITY): Task[] {
    const back: Task[] = [];
    for (let at = this.held.length - 1; at > 0 && back.length < atMost; at--) {
      const task = this.held[at] as Task;
      if (task.isUnique || task.priority >= lessUrgentThan) continue;
      this.held.splice(at, 1);
      back.push(task);
    }
    return back;
  }
}

function open(count: number, runTime?: number) {
  const scheduler = new Scheduler<Task, Worker>(1_000);
  const workers = Array.from({ length: count }, () => new Worker());
  for (const worker of workers) scheduler.addWorker(worker);
  /** Teaches the scheduler the run times of these functions. */
  const ran = (time: number, names: Iterable<string> = 'abcdefghxy') => {
    for (const name of [...names, 'new', 'urgent']) scheduler.ran(name, time);
  };
  if (runTime !== undefined) ran(runTime);
  const add = (...names: string[]) => {
    for (const name of names) scheduler.add(new Task(name));
  };
  /** The task that runs is over. */
  const finish = (worker: Worker, tasks = 1) => {
    worker.held.splice(0, tasks);
    scheduler.dispatch();
  };
  return { scheduler, workers: workers as [Worker, Worker, Worker], add, finish, ran };
}

describe('which worker', () => {
  test('an idle one, then the one that has fewest', () => {
    const { workers, add } = open(3, 1);
    add('a', 'b', 'c', 'd', 'e');
    expect(workers.map(({ names }) => names)).toEqual(['a d', 'b e', 'c']);
  });

  test('none that does not accept any', () => {
    const { workers, add } = open(2, 1);
    workers[0].accepts = false;
    add('a', 'b');
    expect(workers.map(({ names }) => names)).toEqual(['', 'a b']);
  });

  test('one that comes later takes what waits', async () => {
    const { scheduler, workers, add } = open(1, 1);
    add('a', 'b', 'c');
    expect([workers[0].names, scheduler.queued, scheduler.waiting]).toEqual(['a b', 1, 2]);
    const late = new Worker();
    scheduler.addWorker(late);
    expect([workers[0].names, late.names]).toEqual(['a b', 'c']);
  });

  test('not one that has left', () => {
    const { scheduler, workers, add } = open(2, 1);
    scheduler.removeWorker(workers[0]);
    add('a', 'b');
    expect(workers.map(({ names }) => names)).toEqual(['', 'a b']);
  });
});

describe('how much ahead', () => {
  test.each([
    ['of which nothing is known', undefined, 1],
    ['that take long', 50, 1],
    ['of a millisecond', 1, 2],
    ['of a tenth of a millisecond', 0.1, 10],
    ['that take no time', 0.000_1, 256],
  ])('tasks %s', (_, runTime, most) => {
    const { scheduler, workers, add } = open(1, runTime);
    add(...Array.from({ length: 300 }, () => 'a'));
    expect([workers[0].outstanding, scheduler.queued]).toEqual([most, 300 - most]);
  });

  test('what cannot come back waits for an idle worker, unless tasks are short', () => {
    const long = open(1, 50);
    long.add('a');
    long.scheduler.add(new Task('unique', 0, true));
    long.add('b');
    // It keeps its place.
    expect([long.workers[0].names, long.scheduler.queued]).toEqual(['a', 2]);
    long.finish(long.workers[0]);
    expect(long.workers[0].names).toBe('unique');
    // Behind others of its own function it goes ahead where tasks are short.
    const short = open(1, 0.1);
    short.add('a');
    short.scheduler.add(new Task('a', 0, true));
    expect(short.workers[0].names).toBe('a a');
    short.scheduler.add(new Task('b', 0, true));
    expect([short.workers[0].names, short.scheduler.queued]).toEqual(['a a', 1]);
  });
});

describe('behind a longer task', () => {
  /** Two workers; `long` takes 20 ms, all others almost nothing. */
  function mixed() {
    const opened = open(2, 0.02);
    opened.scheduler.ran('long', 20);
    return opened;
  }

  test('no task waits: it goes behind a short one, or stays in the queue', () => {
    const { scheduler, workers, add } = mixed();
    add('long', 'a', 'b', 'c');
    expect(workers.map(({ names }) => names)).toEqual(['long', 'a b c']);
    const other = mixed();
    other.add('long', 'long', 'a', 'b');
    expect(other.workers.map(({ names }) => names)).toEqual(['long', 'long']);
    expect([scheduler.queued, other.scheduler.queued]).toEqual([0, 2]);
    other.finish(other.workers[1]);
    expect(other.workers.map(({ names }) => names)).toEqual(['long', 'a b']);
  });

  test('a long one waits in the queue for an idle worker', () => {
    const { scheduler, workers, add, finish } = mixed();
    add('a', 'b', 'long');
    expect(workers.map(({ names }) => names)).toEqual(['a long', 'b']);
    // It may wait behind a task that takes almost no time; nothing may wait behind it.
    add('c', 'd');
    expect(workers.map(({ names }) => names)).toEqual(['a long', 'b c d']);
    expect(scheduler.queued).toBe(0);
    finish(workers[0], 2);
    expect(workers[0].names).toBe('');
  });

  test('no task waits behind a function that has not run yet', () => {
    const { scheduler, workers, add } = open(1, 0.02);
    add('a', 'unknown', 'b');
    expect([workers[0].names, scheduler.queued]).toEqual(['a unknown', 1]);
  });

  test('the expected time of a function follows its latest tasks', () => {
    const { scheduler, workers, add, finish } = mixed();
    for (let n = 0; n < 60; n++) scheduler.ran('long', 0.01);
    add('long', 'long', 'a');
    expect(workers.map(({ names }) => names)).toEqual(['long a', 'long']);
    finish(workers[0], 2);
    finish(workers[1]);
    scheduler.ran('a', 20);
    add('a', 'a', 'b');
    expect(scheduler.queued).toBe(1);
  });

  test('no task waits once the running task turns out to be long', () => {
    const { scheduler, workers, add } = open(1, 0.02);
    add('a', 'b');
    workers[0].busyFor = 6;
    add('c');
    expect([workers[0].names, scheduler.queued]).toEqual(['a b', 1]);
  });

  test('an idle worker takes tasks from the worker with the most work', async () => {
    const { scheduler, workers, add, finish } = open(3, 0.02);
    add('a', 'b', 'c', 'x', 'd', 'e', 'y', 'f', 'g');
    expect(workers.map(({ names }) => names)).toEqual(['a x y', 'b d f', 'c e g']);
    // The running task turns out to be long.
    (workers[1].held[0] as Task).expectedTime = 20;
    finish(workers[2], 3);
    await nextMacrotask();
    expect(workers.map(({ names }) => names)).toEqual(['a x y', 'b d', 'f']);
    expect(scheduler.queued).toBe(0);
  });
});

describe('a task that must begin at once', () => {
  const timed = (name: string) => new Task(name, 0, false, true);

  test('goes to an idle worker only', () => {
    const { scheduler, workers, add, finish } = open(1, 0.001);
    add('a');
    scheduler.add(timed('b'));
    add('c');
    expect([workers[0].names, scheduler.queued]).toEqual(['a', 2]);
    finish(workers[0]);
    expect([workers[0].names, scheduler.queued]).toEqual(['b c', 0]);
  });
});

describe('dropOldest', () => {
  test('removes the oldest task of the lowest priority, from the queue or from a worker', () => {
    const { scheduler, workers } = open(1, 0.001);
    const tasks = [
      new Task('a'),
      new Task('b'),
      new Task('c', 0, true),
      new Task('d', 1),
      new Task('e', -1),
      new Task('f', 1),
    ];
    for (const task of tasks) scheduler.add(task);
    const dropped: unknown[] = [];
    for (let each = scheduler.dropOldest(); each; each = scheduler.dropOldest()) dropped.push(each);
    // The first runs.
    expect(dropped.map((task) => (task as Task).name)).toEqual(['e', 'b', 'c', 'd', 'f']);
    expect([workers[0].names, scheduler.queued]).toEqual(['a', 0]);
  });
});

describe('a worker that has become idle', () => {
  test('takes over half of what waits in the one that has most, in order', async () => {
    const { workers, add, finish } = open(2, 0.1);
    add('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
    expect(workers.map(({ names }) => names)).toEqual(['a c e g', 'b d f h']);
    finish(workers[1], 4);
    await nextMacrotask();
    expect(workers.map(({ names }) => names)).toEqual(['a c', 'e g']);
  });

  test('not if it gets something else in the same turn', async () => {
    const { workers, add, finish } = open(2, 0.1);
    add('a', 'b', 'c', 'd');
    finish(workers[1], 2);
    add('new');
    await nextMacrotask();
    expect(workers.map(({ names }) => names)).toEqual(['a c', 'new']);
  });

  test('nothing that cannot come back', async () => {
    const { scheduler, workers, add, finish } = open(2, 0.1);
    add('a', 'b');
    scheduler.add(new Task('a', 0, true));
    finish(workers[1]);
    await nextMacrotask();
    expect(workers.map(({ names }) => names)).toEqual(['a a', '']);
  });
});

describe('what is more urgent', () => {
  test('goes before all that was not begun', () => {
    const { scheduler, workers, add, finish } = open(1, 0.01);
    add('a', 'b', 'c');
    expect(workers[0].names).toBe('a b c');
    scheduler.add(new Task('urgent', 1));
    expect([workers[0].names, scheduler.queued]).toEqual(['a urgent', 2]);
    finish(workers[0], 2);
    expect(workers[0].names).toBe('b c');
  });

  test('what it was put before keeps its order, wherever it was', () => {
    const { scheduler, workers, add, finish } = open(2, 0.01);
    add('a', 'b', 'c', 'd', 'e', 'f');
    expect(workers.map(({ names }) => names)).toEqual(['a c e', 'b d f']);
    scheduler.add(new Task('urgent', 1));
    expect(workers.map(({ names }) => names)).toEqual(['a urgent', 'b c']);
    finish(workers[0], 2);
    expect(workers.map(({ names }) => names)).toEqual(['d e', 'b c']);
    expect(scheduler.queued).toBe(1);
  });

  test('is forgotten when it is over', () => {
    const { scheduler, workers, add, finish } = open(1, 0.01);
    add('a', 'b');
    const urgent = new Task('urgent', 1);
    scheduler.add(urgent);
    expect(workers[0].names).toBe('a urgent');
    finish(workers[0], 2);
    scheduler.over(urgent);
    add('c', 'd', 'e');
    expect(workers[0].names).toBe('b c d e');
  });
});

test('after any operations, each task is in one place, and none waits while a worker is idle', async () => {
  const step = fc.oneof(
    fc.record({
      do: fc.constant('add'),
      priority: fc.integer({ min: 0, max: 2 }),
      unique: fc.boolean(),
    }),
    fc.record({
      do: fc.constant('finish'),
      worker: fc.nat(2),
      count: fc.integer({ min: 1, max: 4 }),
    }),
    fc.record({
      do: fc.constant('ran'),
      names: fc.array(fc.nat(60), { minLength: 1 }),
      time: fc.constantFrom(0.001, 0.1, 20),
    }),
    fc.record({ do: fc.constant('turn') }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { scheduler, workers, finish } = open(3);
      let added = 0;
      let finished = 0;
      for (const each of steps) {
        if (each.do === 'add') {
          const { priority, unique } = each as { priority: number; unique: boolean };
          scheduler.add(new Task(String(added++), priority, unique));
        } else if (each.do === 'finish') {
          const { worker, count } = each as { worker: number; count: number };
          const which = workers[worker] as Worker;
          finished += Math.min(count, which.outstanding);
          finish(which, count);
        } else if (each.do === 'ran') {
          const { names, time } = each as { names: number[]; time: number };
          for (const name of names) scheduler.ran(String(name), time);
        } else await nextMacrotask();
        const held = workers.flatMap(({ held }) => held);
        expect(held.length + scheduler.queued).toBe(added - finished);
        expect(new Set(held).size).toBe(held.length);
        // No task is in the queue while a worker is idle.
        if (workers.some(({ outstanding }) => outstanding === 0)) expect(scheduler.queued).toBe(0);
      }
      await nextMacrotask();
      const isIdle = workers.some(({ outstanding }) => outstanding === 0);
      const waiting = workers.flatMap(({ held }) => held.slice(1));
      if (isIdle) expect(waiting.every(({ isUnique }) => isUnique)).toBe(true);
    }),
    { numRuns: 200 },
  );
});
