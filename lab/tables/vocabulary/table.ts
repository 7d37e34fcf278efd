/**
 * The table `vocabulary`: channels, limiters, read-write locks, concurrent mapping and select, against the libraries
 * that people use for each.
 */
import type { Row, Table } from '../../harness/table.js';
import { keptCell } from './cells/kept.js';
import {
  bothCell,
  broadcastCell,
  bufferedCell,
  burstCell,
  burstIteratedCell,
  concurrencyCell,
  iteratedCell,
  keyedCell,
  manyToManyCell,
  mapCell,
  rateCell,
  rendezvousCell,
  rwLockCell,
  selectCell,
  watchCell,
} from './cells/node.js';
import { obedientCell } from './cells/obedient.js';
import { stdAsync } from './std-async.js';
import { subjects } from './subjects/index.js';

const obedientRate = obedientCell('rate');
const obedientBoth = obedientCell('both');

const perOperation = { unit: 'ns', better: 'lower' } as const;

const headlineRows: readonly Row[] = [
  {
    ...perOperation,
    row: 'channel: room for 100',
    cell: bufferedCell.id,
    measure: 'capacity100',
    about:
      'A sender sends 2,000 values and awaits space for each, a receiver awaits each; per value.',
  },
  {
    ...perOperation,
    row: 'channel: room for 1',
    cell: bufferedCell.id,
    measure: 'capacity1',
    about: 'The same with a capacity of 1: the sender waits until the previous value is taken.',
  },
  {
    ...perOperation,
    row: 'limiter: 10 at once',
    cell: concurrencyCell.id,
    measure: 'queued',
    about: '10,000 async functions submitted at once, each with one await inside; per function.',
  },
  {
    ...perOperation,
    row: 'limiter: 10 at once and a rate',
    cell: bothCell.id,
    measure: 'queued',
    about:
      'The same with an additional limit of 20,000 a minute, which is never reached: the cost of counting.',
  },
];

const channelRows: readonly Row[] = [
  {
    ...perOperation,
    row: 'channel: rendezvous',
    cell: rendezvousCell.id,
    measure: 'oneToOne',
    about: 'A capacity of 0: each value passes directly from one sender to one receiver.',
  },
  {
    ...perOperation,
    row: 'channel: 10 senders to 10 receivers',
    cell: manyToManyCell.id,
    measure: 'tenToTen',
    about: 'A capacity of 10; 2,000 values, each received once.',
  },
  {
    ...perOperation,
    row: 'channel: a burst',
    cell: burstCell.id,
    measure: 'burst',
    about: '10,000 values sent without waiting into an unbounded channel, then each is awaited.',
  },
  {
    ...perOperation,
    row: 'channel: for await',
    cell: iteratedCell.id,
    measure: 'iterated',
    about: 'A capacity of 100; the receiver iterates until the sender closes.',
  },
  {
    ...perOperation,
    row: 'channel: a burst, for await',
    cell: burstIteratedCell.id,
    measure: 'burstIterated',
    about: '10,000 values sent without waiting, the channel closed, then iterated.',
  },
  {
    ...perOperation,
    row: 'broadcast to 10',
    cell: broadcastCell.id,
    measure: 'broadcast',
    about: '100 values sent, then each of 10 receivers takes all, ten times; per value received.',
  },
  {
    ...perOperation,
    row: 'watch: 10 wait for a change',
    cell: watchCell.id,
    measure: 'watched',
    about: '10 receivers wait for the latest value to change, and it does; per receiver notified.',
  },
];

const limiterRows: readonly Row[] = [
  {
    ...perOperation,
    row: 'limiter: a rate',
    cell: rateCell.id,
    measure: 'queued',
    about:
      '10,000 async functions submitted at once with 20,000 a minute allowed: none has to wait.',
  },
  {
    ...perOperation,
    row: 'limiter: 10,000 keys',
    cell: keyedCell.id,
    measure: 'keyed',
    about: 'Two functions for each of 10,000 keys, one at a time for a key; per function.',
  },
  {
    row: 'limiter: kept for an idle key',
    cell: keptCell.id,
    measure: 'kept',
    unit: 'bytes',
    better: 'lower',
    about: 'Memory kept for each of 10,000 keys when all their functions have ended; 1 means none.',
  },
  {
    row: 'rate obeyed',
    cell: obedientRate.id,
    measure: 'throughput',
    unit: '% of what the rule allows',
    better: 'higher',
    about:
      '100 in 250 ms, with 999 jobs at once 20 ms before the first 250 ms end. A limiter that starts more than 100 in any 250 ms fails.',
  },
  {
    row: 'rate obeyed: processor time',
    cell: obedientRate.id,
    measure: 'processor',
    unit: 'µs',
    better: 'lower',
    about: 'The cost of a start while the limiter holds jobs back.',
  },
  {
    row: 'rate and 20 at once obeyed',
    cell: obedientBoth.id,
    measure: 'throughput',
    unit: '% of what the rules allow',
    better: 'higher',
    about: 'The same with jobs that take 10 ms, of which no more than 20 may run.',
  },
];

const lockRows: readonly Row[] = [
  {
    ...perOperation,
    row: 'RwLock: read, alone',
    cell: rwLockCell.id,
    measure: 'read',
    about: 'One task acquires a read lock and releases it, without contention.',
  },
  {
    ...perOperation,
    row: 'RwLock: write, alone',
    cell: rwLockCell.id,
    measure: 'write',
    about: 'One task acquires a write lock and releases it, without contention.',
  },
  {
    ...perOperation,
    row: 'RwLock: 9 readers to 1 writer',
    cell: rwLockCell.id,
    measure: 'mixed',
    about:
      '100 tasks take 20 turns each over one await, every tenth turn a write. A lock under which a stream of readers or writers starves the other side is marked.',
  },
  {
    ...perOperation,
    row: 'RwLock: writers alone',
    cell: rwLockCell.id,
    measure: 'writers',
    about: 'The same where every turn is a write.',
  },
];

const otherRows: readonly Row[] = [
  {
    ...perOperation,
    row: 'map: 10 at once',
    cell: mapCell.id,
    measure: 'mapped',
    about: '10,000 inputs through an async function, the results in order; per input.',
  },
  {
    ...perOperation,
    row: 'select: the first of 4',
    cell: selectCell.id,
    measure: 'waited',
    about: 'A wait on four channels; one of them gets a value, a different one each time.',
  },
  {
    ...perOperation,
    row: 'select: one is there',
    cell: selectCell.id,
    measure: 'ready',
    about: 'The same with a value that is already there.',
  },
];

const headlineCells = [bufferedCell, concurrencyCell, bothCell];

const table: Table = {
  table: 'vocabulary',
  title: 'Channels, limiters and locks in TypeScript',
  headline: {
    ours: "Pointsman's channel",
    where: 'in passing values through a channel with a capacity of 100',
    work: 'values passed through a channel, in Node',
  },
  subjects,
  headlineCells: headlineCells.length,
  cells: [
    ...headlineCells,
    rendezvousCell,
    manyToManyCell,
    burstCell,
    iteratedCell,
    burstIteratedCell,
    broadcastCell,
    watchCell,
    rateCell,
    keyedCell,
    keptCell,
    obedientRate,
    obedientBoth,
    rwLockCell,
    mapCell,
    selectCell,
  ],
  rows: [...headlineRows, ...channelRows, ...limiterRows, ...lockRows, ...otherRows],
  tools: ['tinybench'],
  get otherVersions() {
    return { '@std/async': stdAsync.version() };
  },
};

export default table;
