/** The queue of waiting tasks: which is next, which leave early, which is dropped first. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type QueuedTask, TaskQueue } from './queue.js';

class Task implements QueuedTask {
  lane: QueuedTask['lane'] = undefined;
  previous: QueuedTask['previous'] = undefined;
  next: QueuedTask['next'] = undefined;
  earlier: QueuedTask['earlier'] = undefined;
  later: QueuedTask['later'] = undefined;

  constructor(
    readonly name: string,
    readonly enqueuedAt = 0,
    readonly priority = 0,
    readonly key: unknown = undefined,
  ) {}
}

/** A queue of these tasks. */
function queueOf(tasks: readonly Task[], ageing = 1000): TaskQueue<Task> {
  const queue = new TaskQueue<Task>(ageing);
  for (const task of tasks) queue.push(task);
  return queue;
}

/** The names of all that wait, in the order in which they are taken out. */
function drain(queue: TaskQueue<Task>): string {
  const names: string[] = [];
  for (let size = queue.size; size > 0; size -= 1) {
    names.push(queue.shift()?.name ?? '?');
    expect(queue.size).toBe(size - 1);
  }
  expect(queue.shift()).toBe(undefined);
  expect(queue.oldestOfLowest()).toBe(undefined);
  expect(queue.size).toBe(0);
  return names.join(' ');
}

/** `a1 a2 b1`: tasks of the keys a and b that come one after the other. */
const keyed = (names: string) =>
  names.split(' ').map((name, index) => new Task(name, index, 0, name[0]));

describe('of one priority and key', () => {
  test('the first goes first', () => {
    const queue = queueOf([new Task('a'), new Task('b'), new Task('c')]);
    expect(queue.shift()?.name).toBe('a');
    queue.push(new Task('d'));
    expect(queue.size).toBe(3);
    expect(drain(queue)).toBe('b c d');
    queue.push(new Task('e'));
    expect(drain(queue)).toBe('e');
  });

  test('an empty queue has none', () => {
    expect(drain(new TaskQueue<Task>(1000))).toBe('');
  });

  test('those that are put back in reverse order are where they were', () => {
    const queue = queueOf([new Task('a'), new Task('b'), new Task('c')]);
    const taken = [queue.shift(), queue.shift()] as [Task, Task];
    queue.unshift(taken[1]);
    queue.unshift(taken[0]);
    expect(queue.size).toBe(3);
    expect(drain(queue)).toBe('a b c');
    queue.unshift(taken[0]);
    expect(queue.oldestOfLowest()).toBe(taken[0]);
    expect(drain(queue)).toBe('a');
  });

  test('one can be put in again', () => {
    const task = new Task('a');
    const queue = queueOf([task, new Task('b')]);
    queue.remove(task);
    queue.push(task);
    expect(drain(queue)).toBe('b a');
  });
});

describe('priorities', () => {
  test('the higher goes first', () => {
    const queue = queueOf([
      new Task('low', 0, -1),
      new Task('plain', 1, 0),
      new Task('high', 2, 1.5),
      new Task('plain too', 3, 0),
      new Task('high too', 4, 1.5),
    ]);
    expect(drain(queue)).toBe('high high too plain plain too low');
  });

  test('of tasks of the same rank, too', () => {
    expect(drain(queueOf([new Task('old', 0, 0), new Task('high', 1000, 1)]))).toBe('high old');
    expect(drain(queueOf([new Task('high', 1000, 1), new Task('old', 0, 0)]))).toBe('high old');
  });

  test('one step of priority equals the given milliseconds of waiting', () => {
    const tasks = [
      new Task('0 at 0', 0, 0),
      new Task('0 at 500', 500, 0),
      new Task('1 at 1499', 1499, 1),
      new Task('1 at 1501', 1501, 1),
      new Task('2 at 2600', 2600, 2),
    ];
    expect(drain(queueOf(tasks))).toBe('0 at 0 1 at 1499 0 at 500 1 at 1501 2 at 2600');
    expect(drain(queueOf(tasks, 0))).toBe('0 at 0 0 at 500 1 at 1499 1 at 1501 2 at 2600');
    expect(drain(queueOf(tasks, Number.POSITIVE_INFINITY))).toBe(
      '2 at 2600 1 at 1499 1 at 1501 0 at 0 0 at 500',
    );
  });

  test('no task waits forever', () => {
    const queue = queueOf([new Task('patient', 0, 0)]);
    let now = 0;
    let name: string | undefined;
    do {
      now += 1;
      queue.push(new Task('urgent', now, 2));
      name = queue.shift()?.name;
    } while (name === 'urgent' && now < 10_000);
    expect([name, now]).toEqual(['patient', 2001]);
  });

  test('those that are put back are next again', () => {
    const queue = queueOf([new Task('plain', 0, 0), new Task('high', 1, 1)]);
    const taken = [queue.shift(), queue.shift()] as [Task, Task];
    queue.push(new Task('later', 2, 1));
    queue.unshift(taken[1]);
    queue.unshift(taken[0]);
    expect(drain(queue)).toBe('high later plain');
  });
});

describe('keys', () => {
  test('take turns', () => {
    expect(drain(queueOf(keyed('a1 a2 a3 a4 b1 b2 c1')))).toBe('a1 b1 c1 a2 b2 a3 a4');
  });

  test('those without one share a turn', () => {
    const queue = queueOf([
      ...keyed('a1 a2 a3'),
      new Task('1', 3),
      new Task('2', 4),
      new Task('n', 5, 0, null),
    ]);
    expect(drain(queue)).toBe('a1 1 n a2 2 a3');
  });

  test('a key that comes clear is behind those that wait', () => {
    const queue = queueOf(keyed('a1 a2 b1 b2'));
    expect(queue.shift()?.name).toBe('a1');
    queue.push(new Task('c1', 9, 0, 'c'));
    expect(drain(queue)).toBe('b1 a2 c1 b2');
  });

  test('many tasks of one do not keep another waiting', () => {
    const queue = queueOf(Array.from({ length: 1000 }, (_, n) => new Task(`a${n}`, n, 0, 'a')));
    for (let n = 0; n < 10; n += 1) {
      queue.push(new Task(`b${n}`, 1000, 0, 'b'));
      const names = [queue.shift()?.name, queue.shift()?.name];
      expect(names).toContain(`b${n}`);
    }
  });

  test('take turns in each priority of its own', () => {
    const queue = queueOf([
      new Task('a1', 0, 0, 'a'),
      new Task('A1', 0, 1, 'a'),
      new Task('A2', 0, 1, 'a'),
      new Task('a2', 0, 0, 'a'),
      new Task('B1', 0, 1, 'b'),
      new Task('b1', 0, 0, 'b'),
    ]);
    expect(drain(queue)).toBe('A1 B1 A2 a1 b1 a2');
  });

  test('those that are put back get their turns back', () => {
    const queue = queueOf(keyed('a1 a2 b1 b2 c1 d1'));
    const taken = [1, 2, 3, 4, 5].map(() => queue.shift() as Task);
    expect(taken.map(({ name }) => name)).toEqual(['a1', 'b1', 'c1', 'd1', 'a2']);
    for (const task of taken.reverse()) queue.unshift(task);
    expect(drain(queue)).toBe('a1 b1 c1 d1 a2 b2');
  });
});

describe('remove', () => {
  test('takes out a task wherever it stands', () => {
    for (const wanted of 'a1 a2 a3 b1 b2 c1'.split(' ')) {
      const tasks = keyed('a1 a2 a3 b1 b2 c1');
      const queue = queueOf(tasks);
      const task = tasks.find(({ name }) => name === wanted) as Task;
      expect(queue.remove(task)).toBe(true);
      expect(queue.size).toBe(5);
      expect(queue.remove(task)).toBe(false);
      expect(queue.size).toBe(5);
      const left = tasks.filter((each) => each !== task);
      expect(drain(queue)).toBe(drain(queueOf(left)));
    }
  });

  test('takes out the only one, of any priority', () => {
    for (const priority of [0, 1]) {
      const task = new Task('a', 0, priority, 'a');
      const queue = queueOf([task]);
      expect(queue.remove(task)).toBe(true);
      expect(drain(queue)).toBe('');
    }
  });

  test('does nothing for a task that was taken out or never was in', () => {
    const queue = queueOf([new Task('a'), new Task('b')]);
    expect(queue.remove(queue.shift() as Task)).toBe(false);
    expect(queue.remove(new Task('c'))).toBe(false);
    expect(drain(queue)).toBe('b');
  });
});

describe('oldestOfLowest', () => {
  const oldestOf = (tasks: Task[], ageing?: number) =>
    queueOf(tasks, ageing).oldestOfLowest()?.name;

  test('is the first that was enqueued, for any key', () => {
    expect(oldestOf(keyed('a1 b1 a2'))).toBe('a1');
    expect(oldestOf(keyed('b1 a1 b2'))).toBe('b1');
  });

  test('has the lowest priority, however long others have waited', () => {
    const tasks = [
      new Task('high', 0, 1),
      new Task('plain', 10, 0),
      new Task('low', 20, -1),
      new Task('low too', 30, -1),
    ];
    expect(oldestOf(tasks)).toBe('low');
    expect(oldestOf(tasks, 0)).toBe('low');
    expect(oldestOf([...tasks].reverse())).toBe('low too');
  });

  test('is a task that was put back, if there is one', () => {
    const queue = queueOf(keyed('a1 a2 b1'));
    const taken = [queue.shift(), queue.shift()] as [Task, Task];
    expect(taken[1].name).toBe('b1');
    queue.unshift(taken[1]);
    expect(queue.oldestOfLowest()?.name).toBe('b1');
    queue.unshift(taken[0]);
    expect(queue.oldestOfLowest()?.name).toBe('a1');
  });
});

test('the cost of a task grows with the logarithm of the number of priorities', () => {
  const steps = (count: number) => {
    let comparisons = 0;
    const queue = new TaskQueue<Task>(1000);
    for (let n = 0; n < count; n++) {
      const task = new Task('', 0, (n * 7_919) % count);
      // The queue reads it in each comparison of two levels.
      Object.defineProperty(task, 'enqueuedAt', { get: () => comparisons++ * 0 });
      queue.push(task);
    }
    while (queue.size > 0) queue.shift();
    return comparisons / count;
  };
  expect(steps(4_096)).toBeLessThan(2 * steps(64) + 10);
});

/** The law, on arrays: for each priority the tasks as they came, and the keys whose turn it is next. */
class Model {
  readonly levels = new Map<number, { tasks: Task[]; turns: unknown[] }>();

  constructor(readonly ageing: number) {}

  get size(): number {
    return [...this.levels.values()].reduce((sum, { tasks }) => sum + tasks.length, 0);
  }

  put(task: Task, where: 'push' | 'unshift'): void {
    const level = this.levels.get(task.priority) ?? { tasks: [], turns: [] };
    this.levels.set(task.priority, level);
    level.tasks[where](task);
    if (where === 'unshift') level.turns = level.turns.filter((key) => !Object.is(key, task.key));
    if (!level.turns.includes(task.key)) level.turns[where](task.key);
  }

  shift(): Task | undefined {
    const heads = [...this.levels.values()].map(({ tasks, turns: [turn] }) =>
      tasks.find(({ key }) => Object.is(key, turn)),
    );
    const task = this.sorted(heads)[0];
    if (task === undefined) return undefined;
    this.remove(task);
    const turns = this.levels.get(task.priority)?.turns;
    if (turns?.includes(task.key)) turns.push(turns.shift());
    return task;
  }

  remove(task: Task): boolean {
    const level = this.levels.get(task.priority);
    const index = level?.tasks.indexOf(task) ?? -1;
    if (!level || index < 0) return false;
    level.tasks.splice(index, 1);
    if (!level.tasks.some(({ key }) => Object.is(key, task.key))) {
      level.turns = level.turns.filter((key) => !Object.is(key, task.key));
    }
    if (level.tasks.length === 0) this.levels.delete(task.priority);
    return true;
  }

  oldestOfLowest(): Task | undefined {
    return this.levels.get(Math.min(...this.levels.keys()))?.tasks[0];
  }

  sorted(tasks: (Task | undefined)[]): Task[] {
    const rank = (task: Task) => task.enqueuedAt - task.priority * this.ageing;
    return (tasks as Task[]).sort((a, b) => rank(a) - rank(b) || b.priority - a.priority);
  }
}

describe('after any operations', () => {
  const operation = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('push' as const),
        after: fc.nat(30),
        priority: fc.constantFrom(0, 0, 0, 1, 2, -1, 0.5, 7, -3),
        key: fc.constantFrom(undefined, undefined, 'a', 'b', 3, Number.NaN),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('shift' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('put back' as const), many: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), which: fc.nat() }) },
  );

  test('it is as the law says', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(0, 10, 100, 1e12),
        fc.array(operation, { maxLength: 60 }),
        (ageing, operations) => {
          const queue = new TaskQueue<Task>(ageing);
          const model = new Model(ageing);
          const known: Task[] = [];
          const taken: Task[] = [];
          let now = 0;
          const shift = () => {
            const task = queue.shift();
            expect(task).toBe(model.shift());
            return task;
          };
          for (const step of operations) {
            if (step.do === 'push') {
              now += step.after;
              const task = new Task(`${known.length}`, now, step.priority, step.key);
              known.push(task);
              queue.push(task);
              model.put(task, 'push');
            } else if (step.do === 'shift') {
              const task = shift();
              if (task) taken.push(task);
            } else if (step.do === 'put back') {
              for (let count = 0; count < step.many; count += 1) {
                const task = taken.pop();
                if (!task) break;
                queue.unshift(task);
                model.put(task, 'unshift');
              }
            } else if (known.length > 0) {
              const task = known[step.which % known.length] as Task;
              expect(queue.remove(task)).toBe(model.remove(task));
            }
            expect(queue.size).toBe(model.size);
            expect(queue.oldestOfLowest()).toBe(model.oldestOfLowest());
          }
          while (queue.size > 0) shift();
          for (const { lane, previous, next, earlier, later } of known) {
            expect([lane, previous, next, earlier, later]).toEqual(Array(5).fill(undefined));
          }
        },
      ),
      { numRuns: 1000 },
    );
  });
});
