/**
 * The table `vocabulary`: limiters, channels, read-write locks, concurrent mapping and select, against the libraries
 * that people use for each.
 */
import { processorTimeOf } from '../../harness/sample.js';
import type { Row, Table } from '../../harness/table.js';
import { keptMemoryCell, queuedMemoryCell } from './cells/memory.js';
import {
  bothCell,
  broadcastCell,
  bufferedCell,
  burstCell,
  concurrencyCell,
  iteratedCell,
  keyedCell,
  longQueueCell,
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

/** A row of work by one thread. */
function timed(row: Pick<Row, 'row' | 'cell' | 'measure' | 'about'>): Row {
  return {
    ...row,
    unit: 'ns',
    better: 'lower',
    processorTime: processorTimeOf(row.measure),
    judgedByProcessorTime: true,
  };
}

const headlineRows: readonly Row[] = [
  timed({
    row: 'limiter: 10 at once',
    cell: concurrencyCell.id,
    measure: 'of10000',
    about: '10,000 async functions submitted at once, each with one await inside; per function.',
  }),
  timed({
    row: 'limiter: 10 at once, of 1,000',
    cell: concurrencyCell.id,
    measure: 'of1000',
    about: 'The same with 1,000 functions.',
  }),
  timed({
    row: 'channel: room for 100',
    cell: bufferedCell.id,
    measure: 'oneToOne',
    about:
      'A sender sends 2,000 values and awaits space for each, a receiver awaits each; per value.',
  }),
];

const limiterRows: readonly Row[] = [
  timed({
    row: 'limiter: 10 at once, of 100,000',
    cell: longQueueCell.id,
    measure: 'of100000',
    about: 'The same with 100,000 functions: the cost of one must not grow with their number.',
  }),
  {
    row: 'limiter: memory of a queued function',
    cell: queuedMemoryCell.id,
    measure: 'bytes',
    unit: 'bytes',
    better: 'lower',
    about: 'The heap of 10,000 functions that wait behind one, with their promises; per function.',
  },
  timed({
    row: 'limiter: 10 at once and a rate',
    cell: bothCell.id,
    measure: 'queued',
    about:
      '10,000 functions with an additional limit of 20,000 a minute, which is never reached: the cost of counting.',
  }),
  timed({
    row: 'limiter: a rate',
    cell: rateCell.id,
    measure: 'queued',
    about:
      '10,000 async functions submitted at once with 20,000 a minute allowed: none has to wait.',
  }),
  timed({
    row: 'limiter: 10,000 keys',
    cell: keyedCell.id,
    measure: 'keyed',
    about: 'Two functions for each of 10,000 keys, one at a time for a key; per function.',
  }),
  {
    row: 'limiter: kept for an idle key',
    cell: keptMemoryCell.id,
    measure: 'bytes',
    unit: 'bytes',
    better: 'lower',
    about:
      'Memory kept for each of 10,000 keys when all their functions have ended; 10 means at most 10.',
  },
  {
    row: 'rate obeyed',
    cell: obedientRate.id,
    measure: 'throughput',
    unit: '% of what the rule allows',
    better: 'higher',
    about:
      '100 in 250 ms, with 999 jobs at once 20 ms before the first 250 ms end. A limiter that starts more than 100 in any 250 ms, three times in a row, fails.',
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

const mapRows = [1_000, 10_000, 100_000].map((inputs) =>
  timed({
    row: `map: ${inputs.toLocaleString('en')} inputs`,
    cell: mapCell.id,
    measure: `of${inputs}`,
    about:
      'Inputs through an async function, 10 at once, the results in order; per input. The cost of one must not grow with their number.',
  }),
);

const channelRows: readonly Row[] = [
  timed({
    row: 'channel: rendezvous',
    cell: rendezvousCell.id,
    measure: 'oneToOne',
    about: 'A capacity of 0: each value passes directly from one sender to one receiver.',
  }),
  timed({
    row: 'channel: 10 senders to 10 receivers',
    cell: manyToManyCell.id,
    measure: 'tenToTen',
    about: 'A capacity of 10; 2,000 values, each received once.',
  }),
  timed({
    row: 'channel: a burst',
    cell: burstCell.id,
    measure: 'burst',
    about: '10,000 values sent without waiting into an unbounded channel, then each is awaited.',
  }),
  timed({
    row: 'channel: for await',
    cell: iteratedCell.id,
    measure: 'iterated',
    about: 'A capacity of 100; the receiver iterates until the sender closes.',
  }),
  timed({
    row: 'broadcast to 10',
    cell: broadcastCell.id,
    measure: 'broadcast',
    about: '100 values sent, then each of 10 receivers takes all, ten times; per value received.',
  }),
  timed({
    row: 'watch: 10 wait for a change',
    cell: watchCell.id,
    measure: 'watched',
    about: '10 receivers wait for the latest value to change, and it does; per receiver notified.',
  }),
];

const otherRows: readonly Row[] = [
  timed({
    row: 'RwLock: read, alone',
    cell: rwLockCell.id,
    measure: 'read',
    about: 'One task acquires a read lock and releases it, without contention.',
  }),
  timed({
    row: 'RwLock: write, alone',
    cell: rwLockCell.id,
    measure: 'write',
    about: 'One task acquires a write lock and releases it, without contention.',
  }),
  timed({
    row: 'RwLock: 9 readers to 1 writer',
    cell: rwLockCell.id,
    measure: 'mixed',
    about:
      '100 tasks take 20 turns each over one await, every tenth turn a write. A lock under which a stream of readers or writers starves the other side is marked.',
  }),
  timed({
    row: 'select: the first of 4',
    cell: selectCell.id,
    measure: 'waited',
    about: 'A wait on four channels; one of them gets a value, a different one each time.',
  }),
  timed({
    row: 'select: one is there',
    cell: selectCell.id,
    measure: 'ready',
    about: 'The same with a value that is already there.',
  }),
];

const headlineCells = [concurrencyCell, bufferedCell];

const table: Table = {
  table: 'vocabulary',
  title: 'Limiters, channels and locks in TypeScript',
  headline: {
    ours: "Pointsman's limiter",
    where: 'in running 10,000 functions, 10 at once',
    work: 'functions run 10 at once by a limiter, in Node',
  },
  subjects,
  headlineCells: headlineCells.length,
  cells: [
    ...headlineCells,
    longQueueCell,
    queuedMemoryCell,
    bothCell,
    rateCell,
    keyedCell,
    keptMemoryCell,
    obedientRate,
    obedientBoth,
    mapCell,
    rendezvousCell,
    manyToManyCell,
    burstCell,
    iteratedCell,
    broadcastCell,
    watchCell,
    rwLockCell,
    selectCell,
  ],
  rows: [...headlineRows, ...limiterRows, ...mapRows, ...channelRows, ...otherRows],
  get otherVersions() {
    return { '@std/async': stdAsync.version() };
  },
};

export default table;
