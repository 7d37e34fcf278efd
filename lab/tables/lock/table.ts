/**
 * The table `lock`: the published benchmark of a mutex on Redis that locks several keys at once, and what a total time
 * does not show: warm processes, starvation, the load on the server, and several processes.
 */

import { onOneServer } from '../../harness/redis-server.js';
import type { Cell, Row } from '../../harness/table.js';
import { hostProcessesCell, processesCell, semaphoreProcessesCell } from './cells/processes.js';
import { test1AtServerCell, test1Cell } from './cells/test-1.js';
import {
  hostUncontendedCell,
  rwLockUncontendedCell,
  semaphoreUncontendedCell,
  test1WarmCell,
  uncontendedCell,
  warmKeySets,
} from './cells/test-1-warm.js';
import { test2Cell } from './cells/test-2.js';
import {
  hostSettings,
  nameOf,
  type Setting,
  semaphoreSettings,
  settings,
} from './processes/shared.js';
import { publishedIn } from './published.js';
import { handOverInProcess, subjects } from './subjects/index.js';
import { olderVersions } from './subjects/redis-em-mutex.js';
import { permits } from './subjects/semaphores.js';
import { type KeySet, keySetNamed, keySets } from './workloads/keys.js';

function keysOf({ size }: KeySet): string {
  return size === 1
    ? 'one key'
    : `${size} of ${2 * size - 1} keys at once, drawn anew for each turn`;
}

/** A column of the document in one of its tests. */
interface Column {
  readonly measure: string;
  readonly heading: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  readonly about: string;
}

function documentRows(
  test: 'test-1' | 'test-2',
  { id }: Cell,
  [main, ...asides]: readonly [Column, ...Column[]],
): Row[] {
  const row = (keySet: KeySet, index: number, column: Column): Row => ({
    row: `${column.heading}, ${keySet.name}`,
    heading: column.heading,
    column: `keys: ${keySet.name}`,
    cell: id,
    measure: `${keySet.name} ${column.measure}`,
    unit: column.unit,
    better: column.better,
    published: publishedIn(test, column.measure, index),
    about: column.about.replace('{keys}', keysOf(keySet)),
  });
  return [
    ...keySets.map((keySet, index) => ({
      ...row(keySet, index, main),
      processorTime: `${keySet.name} processor time`,
      floor: handOverInProcess.name,
    })),
    ...asides.flatMap((column) =>
      keySets.map((keySet, index) => ({ ...row(keySet, index, column), aside: true as const })),
    ),
  ];
}

function processorTimes(test: string, of: string): Column[] {
  return ['user', 'system', 'total'].map((measure) => ({
    measure,
    heading: `${test}, processor time: ${measure}`,
    unit: 's',
    better: 'lower',
    about: `Processor time of ${of}, ${measure === 'total' ? 'user and system' : measure}, without the server's.`,
  }));
}

const test1Rows = documentRows('test-1', test1Cell, [
  {
    measure: 'seconds',
    heading: 'test 1',
    unit: 's',
    better: 'lower',
    about:
      'Ten tasks of a new process share 1,000 turns, without a pause. Each locks {keys}, and unlocks: the cost of handing a lock over.',
  },
  ...processorTimes('test 1', '1,000 locks'),
]);

const test2Rows = documentRows('test-2', test2Cell, [
  {
    measure: 'count',
    heading: 'test 2',
    unit: 'turns in 5 s',
    better: 'higher',
    about:
      'A hundred tasks sleep 1 to 2 ms, lock {keys}, change a value with four commands in turn and unlock, for 5 s; measured for less and scaled.',
  },
  ...processorTimes('test 2', 'the turns in 5 s'),
  {
    measure: 'seconds',
    heading: 'test 2, wall time with cool-down',
    unit: 's',
    better: 'lower',
    about: '5 s, and the time until the last of the hundred tasks has ended.',
  },
]);

const atServerRow: Row = {
  row: 'test 1, every lock at the server (strict)',
  cell: test1AtServerCell.id,
  measure: 'seconds',
  unit: 's',
  better: 'lower',
  about:
    'Test 1 with all five key sets, 5,000 locks, where each hand-over asks the server: ours in the mode strict against the peers that do so.',
};

function warmRow({ name, size }: KeySet): Row {
  return {
    row: `test 1 warm, ${name}`,
    cell: test1WarmCell.id,
    measure: `${name} seconds`,
    processorTime: `${name} processor time`,
    unit: 's',
    better: 'lower',
    floor: handOverInProcess.name,
    about: `The same 1,000 locks of ${keysOf({ name, size })} in a process that has done them before, as in a server that runs for days.`,
  };
}

const oneKeyRow = (row: string, { id }: Cell, about: string): Row => ({
  row,
  cell: id,
  measure: 'uncontended',
  processorTime: 'uncontended processor time',
  unit: 'µs',
  better: 'lower',
  about,
});

const uncontendedRows = [
  oneKeyRow(
    'uncontended',
    uncontendedCell,
    'One task locks and unlocks one key without contention, the common case.',
  ),
  oneKeyRow(
    'one host, uncontended',
    hostUncontendedCell,
    'One task locks and unlocks one key without contention, without a server.',
  ),
  oneKeyRow(
    `semaphore of ${permits}, uncontended`,
    semaphoreUncontendedCell,
    'One task acquires a permit of one key and releases it, without contention.',
  ),
  oneKeyRow(
    'read-write lock, uncontended',
    rwLockUncontendedCell,
    'One task locks one key as a reader or as a writer and unlocks it, without contention.',
  ),
];

function hostRow(setting: Setting): Row {
  return {
    ...processesRow(setting),
    row: `one host, ${nameOf(setting)}`,
    cell: hostProcessesCell.id,
  };
}

function semaphoreRow(setting: Setting): Row {
  const name = nameOf(setting);
  return {
    row: name,
    cell: semaphoreProcessesCell.id,
    measure: `${name} perSecond`,
    processorTime: `${name} processor time`,
    unit: 'turns/s',
    better: 'higher',
    about:
      setting.pauseMilliseconds === 0
        ? `Processes with ten tasks each acquire one of ${permits} permits of one key, without a pause.`
        : `The same with tasks that pause 1 ms and keep their permit for 1 ms, as real work does.`,
  };
}

function processesRow(setting: Setting): Row {
  const { keySet, pauseMilliseconds } = setting;
  const name = nameOf(setting);
  const keys = keysOf(keySetNamed(keySet));
  return {
    row: name,
    cell: processesCell.id,
    measure: `${name} perSecond`,
    processorTime: `${name} processor time`,
    unit: 'turns/s',
    better: 'higher',
    about:
      pauseMilliseconds === 0
        ? `Processes with ten tasks each lock ${keys}, without a pause.`
        : `Processes with ten tasks each, which pause 1 ms, lock ${keys} and hold the lock for 1 ms, as real work does.`,
  };
}

interface Beside {
  readonly measure: string;
  readonly block: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  readonly about: string;
}

function waitsAmong(whom: string): Beside[] {
  const wait = { unit: 'ms', better: 'lower' } as const;
  return [
    {
      ...wait,
      measure: 'p99',
      block: 'p99 wait, ms',
      about: 'One turn in a hundred waits longer for its lock than this.',
    },
    {
      ...wait,
      measure: 'longest',
      block: 'longest wait, ms',
      about: 'The longest wait of a turn for its lock.',
    },
    {
      measure: 'fairness',
      block: `fairness among ${whom}`,
      unit: "Jain's index",
      better: 'higher',
      about: `How evenly the turns were shared among ${whom} (Jain's index): 1 is even; 1 divided by their number means that one had all turns.`,
    },
  ];
}

const load: Beside = {
  measure: 'executed',
  block: 'commands executed per turn',
  unit: 'commands',
  better: 'lower',
  about: 'Commands that the server executes for one turn; each command inside a script counts.',
};

/** Subjects without figures beside the time: the floor does not lock on the server. */
const without = [handOverInProcess, ...olderVersions].map(({ name }) => name);

/** Rows beside the main ones of a cell, as one matrix. */
function matrix(
  title: string,
  { id, subjects }: Cell,
  columns: readonly string[],
  beside: readonly Beside[],
): Row[] {
  return beside.flatMap(({ measure, block, unit, better, about }) =>
    columns.map((column) => ({
      row: `${title}, ${column}: ${block}`,
      matrix: { title, block, column },
      cell: id,
      measure: `${column} ${measure}`,
      unit,
      better,
      subjects: subjects.filter((name) => !without.includes(name)),
      about,
    })),
  );
}

const besideKeySets = warmKeySets.map(({ name }) => name);

const table = onOneServer({
  table: 'lock',
  title: 'Locks on Redis',
  headline: {
    ours: "Pointsman's Redis mutex",
    where:
      'with its default, local hand-over, in 1,000 locks by ten tasks of a new process, the mean of the five key sets of the published benchmark',
    isMean: true,
    beside: [atServerRow.row],
    work: 'locks on Redis by ten tasks, local hand-over',
  },
  headlineCells: 2,
  document: {
    title: 'BENCHMARK of redis-em-mutex 0.3.1',
    source: 'https://github.com/royaltm/redis-em-mutex/blob/master/BENCHMARK.md',
  },
  subjects,
  cells: [
    ...[test1Cell, test1AtServerCell],
    ...[test1WarmCell, uncontendedCell, test2Cell, processesCell],
    ...[semaphoreUncontendedCell, rwLockUncontendedCell, semaphoreProcessesCell],
    ...[hostUncontendedCell, hostProcessesCell],
  ],
  rows: [
    ...[...test1Rows, atServerRow, ...test2Rows],
    ...[...warmKeySets.map(warmRow), ...uncontendedRows, ...settings.map(processesRow)],
    ...[...hostSettings.map(hostRow), ...semaphoreSettings.map(semaphoreRow)],
    ...matrix('Test 1 warm', test1WarmCell, besideKeySets, [...waitsAmong('the 10 tasks'), load]),
    ...matrix('Test 2', test2Cell, besideKeySets, [...waitsAmong('the 100 tasks'), load]),
    ...matrix('Several processes', processesCell, settings.map(nameOf), [
      ...waitsAmong('the processes'),
      load,
    ]),
    ...matrix(`Semaphore of ${permits}`, semaphoreProcessesCell, semaphoreSettings.map(nameOf), [
      ...waitsAmong('the processes'),
      load,
    ]),
  ],
  tools: ['ioredis', 'redis'],
});

export default table;
