/**
 * What the document leaves out: how fast an idle runtime wakes, when a task runs whose neighbours block or compute,
 * the overhead of fork and join, the memory of tasks and channels, registered timers, and their accuracy. All with
 * each runtime's own channels.
 */
import type { NativeCell, Row, Subject } from '../../harness/table.js';
import { limitMilliseconds, processorMeasure } from './forms.js';
import { commandOf } from './programs.js';
import { parkedThread, polledInPlace, runtimes, sleepingThread, workAlone } from './subjects.js';

interface Beyond {
  readonly cell: NativeCell;
  readonly rows: readonly Row[];
}

type Line = Pick<Row, 'row' | 'measure' | 'unit' | 'about'> &
  Partial<Pick<Row, 'subjects' | 'matrix'>>;

function beyond(
  test: string,
  lines: readonly Line[],
  options: {
    readonly floor?: { readonly subject: Subject; readonly test: string };
    readonly expectedMilliseconds?: number;
  } = {},
): Beyond {
  const { floor, expectedMilliseconds = 0 } = options;
  return {
    cell: {
      id: test,
      subjects: [
        ...runtimes.map(({ name }) => name),
        ...(floor === undefined ? [] : [floor.subject.name]),
      ],
      expectedMilliseconds,
      limitMilliseconds,
      command: (subject, budget) =>
        subject === floor?.subject.name
          ? commandOf(subject, 'floor', floor.test, budget)
          : commandOf(subject, 'native', test, budget),
    },
    rows: lines.map((line) => ({ ...line, cell: test, better: 'lower' })),
  };
}

const processor = { measure: processorMeasure, unit: 'ns' } as const;

/** Tasks that compute for `micros` microseconds each. */
const forks: readonly (readonly [tasks: number, micros: number])[] = [
  [2, 50],
  [2, 300],
  [2, 1_000],
  [4, 50],
  [4, 300],
  [4, 1_000],
];

function forkAndJoin(by: 'block_on' | 'task', [tasks, micros]: (typeof forks)[number]): Beyond {
  const forker = by === 'task' ? 'a task' : 'the future that is blocked on';
  const row = `${tasks} tasks of ${micros} µs, forked by ${forker}`;
  const matrix = (title: string) => ({
    title,
    block: `forked by ${forker}, µs`,
    column: `${tasks} × ${micros} µs`,
  });
  return beyond(
    `fork_join/${by}/${tasks}x${micros}`,
    [
      {
        row,
        measure: 'time',
        unit: 'µs',
        matrix: matrix('Fork and join'),
        about: `On a worker per core: ${tasks} tasks that compute for ${micros} µs each are spawned and awaited. The floor is the time that the cores need for the computation alone.`,
      },
      {
        row: `${row}: processor time`,
        measure: processorMeasure,
        unit: 'µs',
        subjects: runtimes.map(({ name }) => name),
        matrix: matrix('Processor time of fork and join'),
        about: 'The share of the time of all cores, for all threads.',
      },
    ],
    { floor: { subject: workAlone, test: `fork_join/${tasks}x${micros}` } },
  );
}

const perChannel = (kind: string, measure: string, words: string): Line => ({
  row: `memory of an idle ${kind}`,
  measure,
  unit: 'bytes',
  about: `Process memory per channel, for 20,000 ${words}, with both ends.`,
});

export const beyondTheDocument: readonly Beyond[] = [
  beyond(
    'idle/wake-up',
    [
      {
        row: 'waking an idle runtime',
        measure: 'median',
        unit: 'µs',
        about:
          'From `notify_one` on the main thread to the task that waits for it, on a worker per core, after a pause in which all threads sleep.',
      },
      {
        row: 'waking an idle runtime, p99',
        measure: 'p99',
        unit: 'µs',
        about: 'One wake-up in a hundred takes longer.',
      },
    ],
    { floor: { subject: parkedThread, test: 'wake-up' } },
  ),
  beyond(
    'idle/interval',
    [
      {
        row: 'a task that wakes every 100 ms: context switches',
        measure: 'switches',
        unit: 'per second',
        about:
          'Of all threads, on a worker per core, in 2 s in which nothing else runs. The task needs ten wake-ups a second.',
      },
      {
        row: 'a task that wakes every 100 ms: processor time',
        measure: processorMeasure,
        unit: 'µs',
        about: 'The same: the share of the time of all cores per second.',
      },
    ],
    { expectedMilliseconds: 2_000 },
  ),
  beyond(
    'spawn/from_block_on',
    [
      {
        row: 'spawning from block_on',
        measure: 'time',
        unit: 'µs',
        about:
          'The future passed to block_on spawns 1,000 empty tasks and awaits them, on a worker per core.',
      },
      {
        row: 'spawning from block_on: processor time',
        measure: processorMeasure,
        unit: 'µs',
        subjects: runtimes.map(({ name }) => name),
        about: 'The same, as a share of the time of all cores.',
      },
    ],
    { floor: { subject: polledInPlace, test: 'polled/1000' } },
  ),
  ...(['block_on', 'task'] as const).flatMap((by) => forks.map((fork) => forkAndJoin(by, fork))),
  beyond('help/computing spawner', [
    {
      row: 'behind a spawner that computes',
      measure: 'median',
      unit: 'µs',
      about:
        'A task spawns another and computes for 1 ms before it awaits it, on a worker per core: the delay until the other begins.',
    },
    {
      row: 'behind a spawner that computes, p99',
      measure: 'p99',
      unit: 'µs',
      about: 'One in a hundred begins later.',
    },
  ]),
  beyond('help/computing neighbours', [
    {
      row: 'sleep(5 ms) beside two tasks that compute',
      measure: 'median',
      unit: 'ms',
      about:
        'On two workers, while two tasks compute for 5 ms and yield in a loop: how late a third one wakes.',
    },
    {
      row: 'sleep(5 ms) beside two tasks that compute, longest',
      measure: 'longest',
      unit: 'ms',
      about: 'The latest wake-up.',
    },
  ]),
  beyond(
    'help/blocked neighbours',
    [
      {
        row: 'behind three tasks that block',
        measure: 'longest',
        unit: 'ms',
        about:
          '64 tasks on 4 workers, three of which block their threads until all others have run, or for 500 ms: the longest wait of any other task to begin.',
      },
    ],
    { expectedMilliseconds: 350 },
  ),
  beyond(
    'help/blocked worker',
    [
      {
        row: 'behind a task that blocks',
        measure: 'longest',
        unit: 'ms',
        about:
          '64 tasks on 4 workers, one of which blocks its thread for 500 ms: the longest wait of any other task to run.',
      },
    ],
    { expectedMilliseconds: 350 },
  ),
  beyond('timer/cancelled/1', [
    {
      row: 'timer registered and cancelled, one task',
      measure: 'time',
      unit: 'ns',
      about:
        'A timeout of a second around a future that yields once, so that the timer is registered and cancelled.',
    },
    {
      row: 'timer registered and cancelled, one task: processor time',
      ...processor,
      about: 'The same, as a share of the time of all cores.',
    },
  ]),
  beyond('timer/cancelled/8', [
    {
      row: 'timer registered and cancelled, eight tasks',
      measure: 'time',
      unit: 'ns',
      about: 'The same by eight tasks on eight workers.',
    },
    {
      row: 'timer registered and cancelled, eight tasks: processor time',
      ...processor,
      about: 'The same, as a share of the time of all cores.',
    },
  ]),
  beyond('timer/fired', [
    {
      row: 'timer fired: processor time',
      ...processor,
      about:
        'The processor time of a task that is spawned, sleeps for 1 to 20 ms among a thousand others, and is awaited.',
    },
  ]),
  beyond(
    'timer_accuracy',
    [
      {
        row: 'how late timers fire',
        measure: 'median',
        unit: 'µs',
        about:
          'A hundred tasks sleep for 1 to 40 ms. No timer may fire early, not even `sleep(150 ms)` in a task that has just computed for 100 ms.',
      },
      {
        row: 'how late timers fire, p99',
        measure: 'p99',
        unit: 'µs',
        about: 'One timer in a hundred is later.',
      },
    ],
    { floor: { subject: sleepingThread, test: 'sleep' }, expectedMilliseconds: 150 },
  ),
  beyond('memory/task', [
    {
      row: 'memory of an idle task',
      measure: 'task',
      unit: 'bytes',
      about:
        'Process memory per task, for 100,000 tasks that wait forever and hold their own waker.',
    },
  ]),
  beyond('memory/channels', [
    perChannel('oneshot', 'oneshot', 'oneshots'),
    perChannel('bounded mpsc', 'bounded', 'channels with a capacity of 16 numbers'),
    perChannel('unbounded mpsc', 'unbounded', 'unbounded channels'),
    perChannel('watch', 'watch', 'watches'),
  ]),
  beyond(
    'memory/peak',
    [
      {
        row: 'memory after a peak',
        measure: 'stays',
        unit: 'MB',
        about:
          'A million tasks wait at once, are woken and end: the additional memory of the process a moment later.',
      },
    ],
    { expectedMilliseconds: 2_000 },
  ),
];
