/**
 * The table `lock`: the published benchmark of a mutex on Redis that locks several keys at once, and what a total time
 * does not show: starvation, the load on the server, and several processes.
 */

import { announce, findServer, startServer } from '../../harness/redis-server.js';
import type { Cell, Row, Subject, Table } from '../../harness/table.js';
import { processesCell } from './cells/processes.js';
import { test1Cell } from './cells/test-1.js';
import { test2Cell } from './cells/test-2.js';
import { nameOf, type Setting, settings } from './processes/shared.js';
import {
  contenders,
  fastestSubjects,
  foreignSubjects,
  handOverInProcess,
  roundTrip,
  subjects,
} from './subjects/index.js';
import { pureHandler, scriptHandler } from './subjects/redis-em-mutex.js';
import { type KeySet, keySets } from './workloads/keys.js';

/** The subjects that do the document's tests. */
const contestants = [...contenders, ...foreignSubjects];

/** The published times, in the order of the key sets: script handler, pure handler. */
const publishedSeconds = [
  [0.530289, 0.869947],
  [0.664696, 1.044803],
  [0.803888, 1.267044],
  [1.040182, 1.576557],
  [1.767735, 2.123451],
];
const publishedCounts = [
  [4679, 3086],
  [4410, 2556],
  [3428, 2423],
  [3279, 1997],
  [2285, 1715],
];

function byHandler([script, pure]: readonly number[] = []): Record<string, number> {
  return { [scriptHandler.name]: script ?? 0, [pureHandler.name]: pure ?? 0 };
}

/** One key, ten tasks: the subject of the headline, and the rows beside it. */
const headlineCell: Cell = { ...test1Cell, id: 'headline', expectedMilliseconds: 700 };

function test1CellOf({ size }: KeySet): string {
  return size === 1 ? headlineCell.id : test1Cell.id;
}

function test1Row(keySet: KeySet, index: number): Row {
  const { name, size } = keySet;
  return {
    row: `test 1, ${name}`,
    heading: 'test 1',
    column: `keys: ${name}`,
    cell: test1CellOf(keySet),
    measure: `${name} seconds`,
    unit: 's',
    better: 'lower',
    floor: handOverInProcess.name,
    published: byHandler(publishedSeconds[index]),
    about:
      size === 1
        ? 'Ten tasks of one process lock and unlock one key 1,000 times, without a pause: the cost of handing a lock over.'
        : `The same with ${size} of ${2 * size - 1} keys at once, drawn anew for each of the 1,000 turns.`,
  };
}

function test2Row({ name, size }: KeySet, index: number): Row {
  return {
    row: `test 2, ${name}`,
    heading: 'test 2',
    column: `keys: ${name}`,
    cell: test2Cell.id,
    measure: `${name} count`,
    unit: 'turns in 5 s',
    better: 'higher',
    floor: handOverInProcess.name,
    published: byHandler(publishedCounts[index]),
    about:
      size === 1
        ? 'A hundred tasks sleep 1 to 2 ms, lock one key, change a value with four commands in turn and unlock, for 5 s; measured for less and scaled.'
        : `The same with ${size} of ${2 * size - 1} keys at once, drawn anew for each turn.`,
  };
}

interface Beside {
  readonly measure: string;
  readonly block: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  readonly about: string;
}

const waits: readonly Beside[] = [
  {
    measure: 'p99',
    block: 'p99 wait, ms',
    unit: 'ms',
    better: 'lower',
    about: 'One turn in a hundred waits longer for its lock than this.',
  },
  {
    measure: 'longest',
    block: 'longest wait, ms',
    unit: 'ms',
    better: 'lower',
    about: 'The longest wait of a turn for its lock.',
  },
];

const load: readonly Beside[] = [
  {
    measure: 'sent',
    block: 'commands sent per turn',
    unit: 'commands',
    better: 'lower',
    about: 'Commands that the lock sends to the server for one turn; a script counts as one.',
  },
  {
    measure: 'executed',
    block: 'commands executed per turn',
    unit: 'commands',
    better: 'lower',
    about: 'Commands that the server executes for one turn; each command inside a script counts.',
  },
];

function fairnessAmong(whom: string): Beside {
  return {
    measure: 'fairness',
    block: `fairness among ${whom}`,
    unit: "Jain's index",
    better: 'higher',
    about: `How evenly the turns were shared among ${whom} (Jain's index): 1 is even; 1 divided by their number means that one had all turns.`,
  };
}

/** Rows beside the main ones of a cell, as one matrix. */
function matrix(
  title: string,
  prefix: string,
  main: readonly { readonly name: string; readonly column: string; readonly cell: string }[],
  beside: readonly Beside[],
  among: readonly Subject[],
): Row[] {
  return beside.flatMap(({ measure, block, unit, better, about }) =>
    main.map(({ name, column, cell }) => ({
      row: `${prefix}, ${name}: ${block}`,
      matrix: { title, block, column },
      cell,
      measure: `${name} ${measure}`,
      unit,
      better,
      subjects: among
        // The commands of a program in another language are not counted.
        .filter((subject) => measure !== 'sent' || !isForeign(subject))
        .map((subject) => subject.name),
      about,
    })),
  );
}

const isForeign = ({ name }: Subject) => foreignSubjects.some((other) => other.name === name);

function keySetColumns(cellOf: (keySet: KeySet) => string) {
  return keySets.map((keySet) => ({
    name: keySet.name,
    column: keySet.name,
    cell: cellOf(keySet),
  }));
}

const test1Columns = keySetColumns(test1CellOf);
const test2Columns = keySetColumns(() => test2Cell.id);

function besideProcesses(pauseMilliseconds: number, title: string): Row[] {
  const columns = settings
    .filter((setting) => setting.pauseMilliseconds === pauseMilliseconds)
    .map((setting) => ({
      name: nameOf(setting),
      column: `${setting.processes} processes, ${setting.keySet}`,
      cell: processesCell.id,
    }));
  const beside = [...waits, fairnessAmong('the processes'), ...load];
  return matrix(title, processesCell.id, columns, beside, fastestSubjects);
}

function processesRow(setting: Setting): Row {
  const { processes, keySet, pauseMilliseconds } = setting;
  const name = nameOf(setting);
  const keys = keySet === '1/1' ? 'one key' : '5 of 9 keys';
  return {
    row: name,
    cell: processesCell.id,
    measure: `${name} perSecond`,
    unit: 'turns/s',
    better: 'higher',
    about:
      pauseMilliseconds === 0
        ? `${processes} processes with ten tasks each lock ${keys} without a pause.`
        : `${processes} processes with ten tasks each, which pause 1 ms, lock ${keys} and hold the lock for 1 ms, as real work does.`,
  };
}

const table: Table = {
  table: 'lock',
  title: 'Locks on Redis',
  headline: {
    ours: "Pointsman's Redis mutex",
    where: 'in 1,000 locks of one key by ten tasks',
    work: 'locks of one key on Redis, by ten tasks',
  },
  document: {
    title: 'BENCHMARK of redis-em-mutex 0.3.1',
    source: 'https://github.com/royaltm/redis-em-mutex/blob/master/BENCHMARK.md',
  },
  subjects,
  cells: [headlineCell, test1Cell, test2Cell, processesCell],
  rows: [
    ...keySets.map(test1Row),
    ...keySets.map(test2Row),
    {
      row: 'uncontended',
      cell: test1Cell.id,
      measure: 'uncontended',
      subjects: [...contenders, roundTrip].map(({ name }) => name),
      unit: 'µs',
      better: 'lower',
      about: 'One task locks and unlocks one key without contention, the common case.',
    },
    ...settings.map(processesRow),
    ...matrix(
      'Test 1: waits',
      test1Cell.id,
      test1Columns,
      [...waits, fairnessAmong('the 10 tasks')],
      contestants,
    ),
    ...matrix('Test 1: load on the server', test1Cell.id, test1Columns, load, contestants),
    ...matrix(
      'Test 2: waits',
      test2Cell.id,
      test2Columns,
      [...waits, fairnessAmong('the 100 tasks')],
      contestants,
    ),
    ...matrix('Test 2: load on the server', test2Cell.id, test2Columns, load, contestants),
    ...besideProcesses(0, 'Several processes, without a pause'),
    ...besideProcesses(1, 'Several processes, 1 ms inside and 1 ms out'),
  ],
  tools: ['ioredis', 'redis'],
  get otherVersions() {
    const { program, version } = findServer();
    return { [program]: version };
  },
  async prepare(report) {
    const { address, process } = await startServer(report);
    announce(address);
    return { processes: [process] };
  },
};

export default table;
