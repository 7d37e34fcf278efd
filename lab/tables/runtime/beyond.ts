/**
 * What the document leaves out: a server at part load, the wake-up time of an idle runtime, the delay of a task whose
 * neighbours block or compute, the overhead of fork and join, the memory of tasks and channels, registered timers, and
 * their accuracy. All with each runtime's own channels.
 */
import { type Condition, conditions } from '../../harness/condition.js';
import type { NativeCell, Row, Subject } from '../../harness/table.js';
import { type Measured, processorMeasure } from './forms.js';
import { cellOf } from './programs.js';
import { parkedThread, runtimes, sleepingThread, workAlone } from './subjects.js';

type Line = Pick<Row, 'row' | 'measure' | 'unit' | 'about'> &
  Partial<Pick<Row, 'subjects' | 'matrix' | 'processorTime' | 'judgedByProcessorTime'>>;

interface Options extends Pick<NativeCell, 'sliceMilliseconds' | 'expectedMilliseconds' | 'whole'> {
  readonly floor?: { readonly subject: Subject; readonly test: string };
  readonly condition?: Condition;
}

function beyond(test: string, lines: readonly Line[], options: Options = {}): Measured {
  const { floor, condition = 'quiet', ...others } = options;
  const suffix = condition === 'quiet' ? '' : `, ${condition}`;
  const id = `${test}${suffix}`;
  return {
    cell: {
      id,
      expectedMilliseconds: 100,
      ...others,
      ...cellOf(
        'native',
        test,
        floor && { subject: floor.subject.name, test: floor.test },
        condition,
      ),
    },
    rows: lines.map((line) => ({
      ...line,
      row: `${line.row}${suffix}`,
      cell: id,
      better: 'lower',
    })),
  };
}

const ofRuntimes = runtimes.map(({ name }) => name);

/** The two measures of latencies. */
function spread(row: string, unit: string, about: string): Line[] {
  return [
    { row, measure: 'median', unit, about },
    { row: `${row}, p99`, measure: 'p99', unit, about: 'One in a hundred takes longer.' },
  ];
}

function server(jobs: number, condition: Condition): Measured {
  const row = `a server with ${jobs.toLocaleString('en-US')} jobs/s`;
  const columnOf = (title: string, block: string) => ({ title, block, column: condition });
  const title = (measure: string) => `${measure} of ${row}`;
  return beyond(
    `server/${jobs}`,
    [
      {
        row: `${row}: processor time per job`,
        measure: processorMeasure,
        unit: 'µs',
        about:
          'An open loop on two workers: jobs are due at random times. One of 1,000 tasks receives a job from its channel, computes for 20 to 200 µs, takes a lock, sleeps for 1 to 5 ms and sends the job on. The processor time is that of all threads, with the one that sends the jobs. The floor is the computation alone.',
      },
      ...spread(
        `${row}: latency`,
        'µs',
        'From the time at which the job was due until it has been sent on, without its sleep.',
      ).map((line) => ({ ...line, subjects: ofRuntimes })),
      {
        row: `${row}: context switches per job`,
        measure: 'switches',
        unit: 'per job',
        subjects: ofRuntimes,
        matrix: columnOf(title('Context switches'), 'per job'),
        about: 'The context switches of all threads for one job.',
      },
    ],
    {
      condition,
      floor: { subject: workAlone, test: `server/${jobs}` },
      sliceMilliseconds: 250,
      expectedMilliseconds: 200,
    },
  );
}

/** Tasks that compute for `micros` microseconds each. */
function forkAndJoin(by: 'block_on' | 'task' | 'idle', tasks: number, micros: number): Measured {
  const forkers = {
    block_on: 'by the future that is blocked on',
    task: 'by a task',
    idle: 'by a task, after a pause',
  };
  const row = `${tasks} tasks of ${micros.toLocaleString('en-US')} µs, forked ${forkers[by]}`;
  const matrix = (title: string) => ({
    title,
    block: `forked ${forkers[by]}, µs`,
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
        subjects: ofRuntimes,
        matrix: matrix('Processor time of fork and join'),
        about: 'The processor time of all threads for the same turn.',
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

/** A second sample would reuse the memory that stays with the allocator. */
const wholeMemory = 'Each sample of memory needs a new process.';

function cancelled(tasks: number, about: string): Measured {
  const row = `timer registered and cancelled, ${tasks === 1 ? 'one task' : 'eight tasks'}`;
  const isOneThread = tasks === 1;
  return beyond(`timer/cancelled/${tasks}`, [
    {
      row,
      measure: 'time',
      unit: 'ns',
      processorTime: processorMeasure,
      ...(isOneThread ? { judgedByProcessorTime: true } : {}),
      about,
    },
  ]);
}

export const beyondTheDocument: readonly Measured[] = [
  ...conditions.map((condition) => server(8_000, condition)),
  server(20_000, 'quiet'),
  beyond(
    'spawn_blocking/concurrency/16',
    [
      {
        row: 'blocking calls',
        measure: 'time',
        unit: 'µs',
        processorTime: processorMeasure,
        about: '16 tasks call `spawn_blocking` 1,600 times each, 16 at a time.',
      },
    ],
    { condition: 'all cores busy' },
  ),
  beyond(
    'idle/wake-up',
    spread(
      'waking an idle runtime',
      'µs',
      'From `notify_one` on the main thread to the task that waits for it, on a worker per core, after a pause in which all threads sleep.',
    ),
    { floor: { subject: parkedThread, test: 'wake-up' }, sliceMilliseconds: 100 },
  ),
  beyond(
    'idle/interval',
    [
      {
        row: 'a task that wakes every 100 ms: context switches',
        measure: 'switches',
        unit: 'per second',
        about:
          'The context switches of all threads, on a worker per core, while nothing else runs. The task needs ten wake-ups a second.',
      },
      {
        row: 'a task that wakes every 100 ms: processor time',
        measure: processorMeasure,
        unit: 'µs',
        about: 'The processor time of all threads per second, for the same task.',
      },
    ],
    { sliceMilliseconds: 400, expectedMilliseconds: 150 },
  ),
  ...(
    [
      ['task', 2, 50],
      ['task', 2, 300],
      ['task', 4, 300],
      ['task', 4, 1_000],
      ['block_on', 2, 300],
      ['idle', 2, 300],
    ] as const
  ).map(([by, tasks, micros]) => forkAndJoin(by, tasks, micros)),
  beyond(
    'help/computing spawner',
    spread(
      'behind a spawner that computes',
      'µs',
      'A task spawns another and computes for 1 ms before it awaits it, on a worker per core: the delay until the other begins.',
    ),
    { sliceMilliseconds: 100 },
  ),
  beyond(
    'help/computing neighbours',
    spread(
      'sleep(5 ms) beside two tasks that compute',
      'ms',
      'Two tasks on two workers compute for 5 ms and yield, in a loop: the delay with which a third one wakes.',
    ),
    { sliceMilliseconds: 100 },
  ),
  beyond('help/blocked neighbours', [
    {
      row: 'behind three tasks that block',
      measure: 'median',
      unit: 'ms',
      about:
        '64 tasks on 4 workers. Three of the tasks block their threads until all others have run, or for 100 ms. The longest time until another task began.',
    },
  ]),
  cancelled(
    1,
    'A timeout of a second around a future that yields once, so that the timer is registered and cancelled.',
  ),
  cancelled(8, 'The same by eight tasks on a worker per core.'),
  beyond('timer/fired', [
    {
      row: 'timer fired: processor time',
      measure: processorMeasure,
      unit: 'µs',
      about:
        'The processor time of a task that is spawned, sleeps for 1 to 20 ms among a thousand others, and is awaited.',
    },
  ]),
  beyond(
    'timer_accuracy',
    spread(
      'how late timers fire',
      'µs',
      'A hundred tasks sleep for 1 to 40 ms. No timer may fire early, not even `sleep(30 ms)` in a task that has just computed for 20 ms.',
    ),
    { floor: { subject: sleepingThread, test: 'sleep' }, sliceMilliseconds: 45 },
  ),
  beyond(
    'memory/task',
    [
      {
        row: 'memory of an idle task',
        measure: 'task',
        unit: 'bytes',
        about:
          'Process memory per task, for 100,000 tasks that wait forever and hold their own waker.',
      },
    ],
    { whole: wholeMemory },
  ),
  beyond(
    'memory/channels',
    [
      perChannel('oneshot', 'oneshot', 'oneshots'),
      perChannel('bounded mpsc', 'bounded', 'channels with a capacity of 16 numbers'),
      perChannel('unbounded mpsc', 'unbounded', 'unbounded channels'),
      perChannel('watch', 'watch', 'watches'),
    ],
    { whole: wholeMemory },
  ),
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
    { whole: wholeMemory, expectedMilliseconds: 2_000 },
  ),
];
