/**
 * What the document leaves out: how fast an idle runtime wakes, whether one task that blocks holds up the
 * others, what idle tasks and channels hold, timers that are really registered, and whether they are
 * right. All with each runtime's own channels.
 */
import type { NativeCell, Row, Subject } from '../../harness/table.js';
import { limitMilliseconds, processorMeasure } from './forms.js';
import { commandOf } from './programs.js';
import { parkedThread, runtimes, sleepingThread } from './subjects.js';

interface Beyond {
  readonly cell: NativeCell;
  readonly rows: readonly Row[];
}

type Line = Pick<Row, 'row' | 'measure' | 'unit' | 'about'> & Partial<Pick<Row, 'subjects'>>;

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
const perChannel = (kind: string, measure: string, words: string): Line => ({
  row: `memory of an idle ${kind}`,
  measure,
  unit: 'bytes',
  about: `Of the process, for each of 20,000 ${words}, with both ends.`,
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
          'From `notify_one` on the main thread to the task that waits for it, on a worker per core, after a pause in which everything sleeps.',
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
    'idle/blocked worker',
    [
      {
        row: 'behind a task that blocks',
        measure: 'longest',
        unit: 'ms',
        about:
          '64 tasks on 4 workers, one of which blocks its thread for 500 ms: the longest that any other waited to run.',
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
      about: 'The same, of the time of all cores.',
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
      about: 'The same, of the time of all cores.',
    },
  ]),
  beyond('timer/fired', [
    {
      row: 'timer fired: processor time',
      ...processor,
      about:
        'What a task costs that is spawned, sleeps for 1 to 20 ms among a thousand others, and is awaited.',
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
          'A hundred tasks sleep for 1 to 40 ms. No timer may fire early, not even `sleep(150 ms)` in a task that has just worked for 100 ms without a pause.',
      },
      {
        row: 'how late timers fire, p99',
        measure: 'p99',
        unit: 'µs',
        about: 'The latest of them.',
      },
    ],
    { floor: { subject: sleepingThread, test: 'sleep' }, expectedMilliseconds: 150 },
  ),
  beyond('idle/memory/task', [
    {
      row: 'memory of an idle task',
      measure: 'task',
      unit: 'bytes',
      about:
        'Of the process, for each of 100,000 tasks that wait for ever and hold their own waker.',
    },
  ]),
  beyond('idle/memory/channels', [
    perChannel('oneshot', 'oneshot', 'oneshots'),
    perChannel('bounded mpsc', 'bounded', 'channels with room for 16 numbers'),
    perChannel('unbounded mpsc', 'unbounded', 'unbounded channels'),
    perChannel('watch', 'watch', 'watches'),
  ]),
];
