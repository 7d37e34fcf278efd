/**
 * What the default feature `diagnostics` costs: tests on one worker, where each spawn, poll and wait counts, on ours with
 * it, on ours without it and on Tokio.
 */
import type { NativeCell } from '../../harness/table.js';
import { type Measured, processorMeasure } from './forms.js';
import { programOf } from './programs.js';
import { plain, pointsman, tokio } from './subjects.js';

const subjects = [pointsman.name, plain.name, tokio.name];

interface Line {
  readonly name: string;
  readonly test: string;
  readonly unit: string;
  readonly about: string;
}

const lines: readonly Line[] = [
  {
    name: 'spawn and await',
    test: 'rt_current_thread/rt_spawn_many_local',
    unit: 'µs',
    about: '1,000 tasks that do nothing are spawned and awaited.',
  },
  {
    name: 'spawn, yield and await',
    test: 'spawn/basic_scheduler_spawn_1000',
    unit: 'µs',
    about: '1,000 tasks that yield once are spawned and awaited.',
  },
  {
    name: 'request and reply',
    test: 'sync_mpsc_oneshot/request_reply',
    unit: 'µs',
    about: '1,000 requests through a channel to a task that answers each through a oneshot.',
  },
  {
    name: 'contended semaphore',
    test: 'sync_semaphore/contention/concurrent_single',
    unit: 'µs',
    about: 'Six futures of a task each acquire and release one of five permits.',
  },
  {
    name: 'timeout',
    test: 'timer/single_thread_timeout',
    unit: 'ns',
    about: 'A timeout around a future that is ready at once.',
  },
];

function command(test: string): NativeCell['command'] {
  return (subject) => [programOf(subject), 'native', test, 'quiet'];
}

export const costOfDiagnostics: readonly Measured[] = [
  ...lines.map(({ name, test, unit, about }): Measured => {
    const id = `diagnostics: ${name}`;
    return {
      cell: {
        id,
        subjects,
        limitMilliseconds: 10_000,
        command: command(test),
        sliceMilliseconds: 50,
        expectedMilliseconds: 100,
      },
      rows: [
        {
          row: id,
          cell: id,
          measure: 'time',
          unit,
          better: 'lower',
          processorTime: processorMeasure,
          judgedByProcessorTime: true,
          about: `The cost of diagnostics, on one worker. ${about}`,
        },
      ],
    };
  }),
  {
    cell: {
      id: 'diagnostics: memory',
      subjects,
      limitMilliseconds: 10_000,
      command: command('memory/task'),
      expectedMilliseconds: 100,
      whole: 'Each sample of memory needs a new process.',
    },
    rows: [
      {
        row: 'diagnostics: memory of an idle task',
        cell: 'diagnostics: memory',
        measure: 'task',
        unit: 'bytes',
        better: 'lower',
        about:
          'The cost of diagnostics: process memory per task, for 100,000 tasks that wait forever and hold their own waker.',
      },
    ],
  },
];
