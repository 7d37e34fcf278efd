/**
 * The works: each once for every condition that it is measured in, with its cell and rows.
 *
 * Invariant: a cell, its rows and its command agree on the work, the condition and the rate.
 */
import { findOha } from '../../harness/oha.js';
import type { Budget, NativeCell, Row } from '../../harness/table.js';
import { load, programNamed } from './programs.js';
import { byHand, monoio, pointsman, tokio } from './subjects.js';

interface Work {
  /** The program's parameter: the kind, and the number of connections, tasks or bytes. */
  readonly test: string;
  readonly row: string;
  /** In the head of a column. */
  readonly short: string;
  readonly about: string;
  readonly subjects: readonly string[];
}

export type Condition = 'quiet' | 'blocked';

export interface Measured {
  readonly cell: NativeCell;
  readonly rows: readonly Row[];
}

const both = [pointsman.name, tokio.name];
const overTcp = [...both, monoio.name, byHand.name];
const withFloor = [...both, byHand.name];

function echo(connections: number): Work {
  const many = connections.toLocaleString('en-US');
  const over = `${many} connection${connections === 1 ? '' : 's'}`;
  return {
    test: `tcp/${connections}`,
    row: `echo over TCP, ${over}`,
    short: `TCP, ${over}`,
    about: `Messages of 64 bytes are echoed over ${over}, one in flight on each.`,
    subjects: overTcp,
  };
}

function files(bytes: number, size: string): Work {
  return {
    test: `file/${bytes}`,
    row: `files of ${size} read`,
    short: `files, ${size}`,
    about: `16 tasks each read a file of ${size} with \`fs::read\`, in a loop; the system has it cached.`,
    subjects: withFloor,
  };
}

export const echo64 = echo(64);
export const plaintext: Work = {
  test: 'plaintext/64',
  row: 'hyper, plain text',
  short: 'hyper, plain text',
  about: 'hyper answers with 13 bytes over 64 keep-alive connections of oha.',
  subjects: both,
};
export const churn: Work = {
  test: 'churn/16',
  row: 'connections made and closed',
  short: 'connections',
  about:
    'Of 16 at a time, each connects, sends 64 bytes, receives them back and is closed by the server: one request.',
  subjects: overTcp,
};

export const works: readonly Work[] = [
  echo(1),
  echo64,
  echo(1_000),
  plaintext,
  {
    test: 'json/64',
    row: 'axum, JSON',
    short: 'axum, JSON',
    about: 'axum answers with a JSON object of one string over 64 keep-alive connections of oha.',
    subjects: both,
  },
  churn,
  {
    test: 'udp/64',
    row: 'echo over UDP',
    short: 'UDP',
    about: 'One task with one socket echoes datagrams of 64 bytes from 64 sockets.',
    subjects: withFloor,
  },
  {
    test: 'unix/64',
    row: 'echo over Unix sockets',
    short: 'Unix sockets',
    about: 'Messages of 64 bytes are echoed over 64 Unix sockets.',
    subjects: withFloor,
  },
  {
    test: 'redis/16',
    row: 'Redis round trip',
    short: 'Redis',
    about: 'The crate `redis`: 16 tasks each increment a key of their own, over one connection.',
    subjects: both,
  },
  files(4_096, '4 kB'),
  files(65_536, '64 kB'),
  files(1_048_576, '1 MB'),
  {
    test: 'processes/4',
    row: 'child processes',
    short: 'processes',
    about: '4 tasks each start `/bin/true` and wait for its end.',
    subjects: withFloor,
  },
];

/** Requests due each second, independent of the answers. */
export type Rate = 1_000 | 20_000;

interface Setting {
  readonly condition: Condition;
  /** Absent for a closed loop. */
  readonly rate?: Rate;
  readonly workers?: 'one';
}

/** The address of the Redis server that the table's preparation has started. */
let redisAddress = '';

export function useRedisAt(address: string): void {
  redisAddress = address;
}

const limitMilliseconds = 20_000;
/** Long enough to see the rarest latencies; at a rate there are fewer requests. */
const windows = { unpaced: 4, paced: 8 };

export function measured(work: Work, setting: Setting): Measured {
  const { condition, rate = 0, workers = 'cores' } = setting;
  const name = [
    work.row,
    rate > 0 ? `${rate.toLocaleString('en-US')} requests/s` : '',
    workers === 'one' ? 'on one thread' : '',
    condition === 'blocked' ? 'a task blocks' : '',
  ]
    .filter(Boolean)
    .join(', ');
  const subjects =
    workers === 'one'
      ? both
      : work.subjects.filter(
          // Its one thread has no other task that could block it, and it waits for every single answer.
          (subject) => subject !== byHand.name || (condition === 'quiet' && rate === 0),
        );
  const longer = rate > 0 ? windows.paced : windows.unpaced;
  const cell: NativeCell = {
    id: name,
    subjects,
    expectedMilliseconds: 500,
    limitMilliseconds,
    command: (subject, { warmupMilliseconds, measureMilliseconds }: Budget) => [
      load,
      programNamed(subject),
      work.test,
      workers,
      condition,
      String(rate),
      String(warmupMilliseconds),
      String(measureMilliseconds * longer),
      toolOf(work),
    ],
  };
  const about = [work.about, aboutSetting(work, setting)].filter(Boolean).join(' ');
  const rows = measures
    .filter(({ measure }) => rate === 0 || measure !== 'rate')
    .map((line): Row => ({ ...line, row: rowName(name, line), cell: name, about }));
  const isShown = ({ measure }: Row) =>
    measure === 'rate' || (measure === 'p99' && (condition === 'blocked' || rate > 0));
  const matrix = (row: Row): Row => ({
    ...row,
    matrix: { title: titleOf(setting), block: blockOf(row), column: columnOf(work, setting) },
  });
  return {
    cell,
    // The first row of a cell is its main one.
    rows: [...rows.filter(isShown), ...rows.filter((row) => !isShown(row)).map(matrix)],
  };
}

type Line = Pick<Row, 'measure' | 'unit' | 'better' | 'processorTime'>;

const measures: readonly Line[] = [
  { measure: 'rate', unit: 'requests/s', better: 'higher', processorTime: 'processor' },
  { measure: 'p50', unit: 'µs', better: 'lower' },
  { measure: 'p99', unit: 'µs', better: 'lower' },
  { measure: 'p99.9', unit: 'µs', better: 'lower' },
  { measure: 'processor', unit: 'µs', better: 'lower' },
  { measure: 'switches', unit: 'per request', better: 'lower' },
];

const measureWords: Readonly<Record<string, string>> = {
  rate: '',
  processor: 'processor time',
  switches: 'context switches',
};

function rowName(name: string, { measure }: Line): string {
  const words = measureWords[measure] ?? measure;
  return words === '' ? name : `${name}: ${words}`;
}

function blockOf({ measure, unit }: Line): string {
  return `${measureWords[measure] || measure}, ${unit}`;
}

function toolOf({ test }: Work): string {
  if (test.startsWith('redis')) return redisAddress;
  return test === plaintext.test || test.startsWith('json') ? (findOha()?.program ?? '') : '';
}

function titleOf({ condition, rate, workers }: Setting): string {
  if (rate !== undefined) return 'At a rate: latency, processor time and context switches';
  if (workers === 'one') return 'On one thread: latency, processor time and context switches';
  return condition === 'blocked'
    ? 'While a task blocks its worker: latency, processor time and context switches'
    : 'Latency, processor time and context switches';
}

function columnOf({ short }: Work, { condition, rate }: Setting): string {
  if (rate === undefined) return short;
  return `${short}, ${rate.toLocaleString('en-US')}/s${condition === 'blocked' ? ', a task blocks' : ''}`;
}

function aboutSetting({ test }: Work, { condition, rate, workers }: Setting): string {
  return [
    workers === 'one' ? 'The runtime has one thread.' : '',
    condition === 'blocked'
      ? 'Every 50 ms a task blocks its worker for 10 ms by `std::thread::sleep`.'
      : '',
    rate === undefined
      ? 'Closed loop: a late answer delays the next request, so a server that stalls delays few requests.'
      : 'Requests are due at times that do not depend on answers; latency counts from the due time.',
    test === plaintext.test || test.startsWith('json')
      ? 'The first request of a connection includes connecting.'
      : '',
  ]
    .filter(Boolean)
    .join(' ');
}
