/**
 * The works: each once for every setting that it is measured in, with its cell and rows.
 *
 * Invariant: a cell, its rows and its command agree on the work and its setting.
 */
import type { Condition } from '../../harness/condition.js';
import type { NativeCell, Row } from '../../harness/table.js';
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
  /** Whether a request takes milliseconds, so that a slice must be longer. */
  readonly isSlow?: boolean;
}

interface Setting {
  /** Requests due each second, independent of the answers; absent for a closed loop. */
  readonly rate?: number;
  /** Whether the subject makes its own requests at times that do not depend on answers. */
  readonly comesByTheClock?: boolean;
  /** Whether a task blocks its worker now and then. */
  readonly isBlocked?: boolean;
  readonly isOneThread?: boolean;
  readonly condition?: Condition;
}

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

const echo64 = echo(64);
const plaintext: Work = {
  test: 'plaintext/64',
  row: 'hyper, plain text',
  short: 'hyper, plain text',
  about: 'hyper answers with 13 bytes over 64 keep-alive connections.',
  subjects: both,
};
function json(connections: number): Work {
  const over = `${connections} connection${connections === 1 ? '' : 's'}`;
  const row = connections === 64 ? 'axum, JSON' : `axum, JSON, ${over}`;
  return {
    test: `json/${connections}`,
    row,
    short: row,
    about: `axum answers with a JSON object of one string over ${over}, which ${connections === 1 ? 'is' : 'are'} kept alive.`,
    subjects: both,
  };
}
const overTls: Work = {
  test: 'tls/64',
  row: 'hyper over TLS',
  short: 'hyper over TLS',
  about:
    'hyper answers with 13 bytes over 64 keep-alive connections, which tokio-rustls encrypts. The handshakes are not measured.',
  subjects: both,
};

function served(connections: number, bytes: number, size: string): Work {
  return {
    test: `serve/${connections}x${bytes}`,
    row: `files of ${size} served`,
    short: `served, ${size}`,
    about: `axum with tower-http's \`ServeDir\` sends a file of ${size} over ${connections} keep-alive connections; the system has it cached.`,
    subjects: both,
    isSlow: bytes > 1_000_000,
  };
}

const served64k = served(16, 65_536, '64 kB');
const served10M = served(4, 10_485_760, '10 MB');
const churn: Work = {
  test: 'churn/16',
  row: 'connections made and closed',
  short: 'connections',
  about:
    'Of 16 at a time, each connects, sends 64 bytes, receives them back and is closed by the server: one request.',
  subjects: overTcp,
};
function web(rate: number): Work {
  const each = rate.toLocaleString('en-US');
  return {
    test: `web/${rate}`,
    row: `web-like jobs, ${each}/s`,
    short: `web-like jobs, ${each}/s`,
    about: `A thread sends ${each} jobs/s at random times to 1,000 tasks, which work as a web server does: each receives its job, computes for 20 to 200 µs (47 on average), takes a mutex, sleeps for 1 to 5 ms and sends the result. A job is a request; its latency counts from its due time and leaves out the sleep.`,
    subjects: both,
  };
}
const bursts: Work = {
  test: 'bursts/8000',
  row: 'web-like jobs in bursts, 8,000/s',
  short: 'jobs in bursts',
  about: 'The web-like jobs, sent by a task once in a millisecond.',
  subjects: both,
};
const timers: Work = {
  test: 'timers/1000',
  row: 'timers in batches, 1,000',
  short: 'timers in batches',
  about: '1,000 tasks sleep until the same time, every 5 ms; a wake-up is a request.',
  subjects: both,
};
const behind: Work = {
  test: 'behind/1',
  row: 'a task behind one that blocks',
  short: 'behind a blocked task',
  about:
    'Every 30 ms a task queues another task and then blocks its worker for 20 ms. Latency is the time until the other begins.',
  subjects: both,
};
const redis: Work = {
  test: 'redis/16',
  row: 'Redis round trip',
  short: 'Redis',
  about: 'The crate `redis`: 16 tasks each increment a key of their own, over one connection.',
  subjects: both,
};

function forkAndJoin(tasks: number, microseconds: number): Work {
  const row = `fork and join, ${tasks} tasks of ${microseconds} µs`;
  return {
    test: `fork/${tasks}x${microseconds}`,
    row,
    short: `fork and join, ${tasks} x ${microseconds} µs`,
    about: `Every 2 ms a task spawns ${tasks} tasks that compute for about ${microseconds} µs, and awaits them: one request.`,
    subjects: both,
  };
}

type Line = Pick<Row, 'measure' | 'unit' | 'better' | 'processorTime'>;

const measures: readonly Line[] = [
  { measure: 'rate', unit: 'requests/s', better: 'higher', processorTime: 'processor' },
  { measure: 'processor', unit: 'µs', better: 'lower' },
  { measure: 'switches', unit: 'per request', better: 'lower' },
  { measure: 'p50', unit: 'µs', better: 'lower' },
  { measure: 'p99', unit: 'µs', better: 'lower', processorTime: 'processor' },
];

const measureWords: Readonly<Record<string, string>> = {
  rate: '',
  processor: 'processor time',
  switches: 'context switches',
};

/** The address of the Redis server, once the table's preparation has started it. */
let redisAddress = '';

export function useRedisAt(address: string): void {
  redisAddress = address;
}

export const headlines: readonly Measured[] = [
  measured(echo64),
  measured(echo64, { rate: 1_000, isBlocked: true }),
  measured(plaintext),
  measured(churn),
];

/** `hasRedis` is false where no Redis server is installed. */
export function otherWorks(hasRedis: boolean): readonly Measured[] {
  return [
    ...(['quiet', 'one core busy', 'all cores busy'] as const).map((condition) =>
      measured(json(64), { rate: 10_000, condition }),
    ),
    ...(['quiet', 'one core busy', 'all cores busy'] as const).flatMap((condition) =>
      [web(2_000), web(8_000), bursts].map((work) =>
        measured(work, { comesByTheClock: true, condition }),
      ),
    ),
    // Half and nine tenths of what 2 cores can do.
    ...[web(16_000), web(30_000)].map((work) => measured(work, { comesByTheClock: true })),
    ...[timers, forkAndJoin(2, 50), forkAndJoin(2, 300), forkAndJoin(4, 300), behind].map((work) =>
      measured(work, { comesByTheClock: true }),
    ),
    measured(echo64, { rate: 1_000 }),
    measured(echo64, { rate: 20_000 }),
    measured(plaintext, { rate: 1_000, isBlocked: true }),
    measured(echo(1)),
    measured(echo(1_000)),
    measured(json(64)),
    ...[1, 16, 256].map((connections) => measured(json(connections))),
    // At half load.
    measured(json(1), { rate: 20_000 }),
    ...[16, 64, 256].map((connections) => measured(json(connections), { rate: 40_000 })),
    measured(overTls),
    measured(overTls, { rate: 35_000 }),
    measured(served64k),
    measured(served64k, { rate: 6_000 }),
    measured(served10M),
    measured(served10M, { rate: 120 }),
    measured({
      test: 'udp/64',
      row: 'echo over UDP',
      short: 'UDP',
      about: 'One task with one socket echoes datagrams of 64 bytes from 64 sockets.',
      subjects: withFloor,
    }),
    measured({
      test: 'unix/64',
      row: 'echo over Unix sockets',
      short: 'Unix sockets',
      about: 'Messages of 64 bytes are echoed over 64 Unix sockets.',
      subjects: withFloor,
    }),
    ...(hasRedis ? [measured(redis)] : []),
    measured(files(4_096, '4 kB')),
    measured(files(1_048_576, '1 MB')),
    measured({
      test: 'processes/4',
      row: 'child processes',
      short: 'processes',
      about: '4 tasks each start `/bin/true` and wait for its end.',
      subjects: withFloor,
    }),
    measured(echo64, { isOneThread: true }),
    measured(plaintext, { isOneThread: true }),
  ];
}

function measured(work: Work, setting: Setting = {}): Measured {
  const { rate, isBlocked = false, isOneThread = false, condition = 'quiet' } = setting;
  const name = nameOf(work.row, setting);
  const isClosedLoop = rate === undefined && setting.comesByTheClock !== true;
  const cell: NativeCell = {
    id: name,
    // The hand-written server has no other task that could block its one thread.
    subjects: isOneThread
      ? both
      : work.subjects.filter((subject) => subject !== byHand.name || (isClosedLoop && !isBlocked)),
    // At a rate, a slice must be long enough that several requests exceed the 99th percentile.
    sliceMilliseconds: (isClosedLoop ? 60 : 300) * (work.isSlow ? 4 : 1),
    turns: isClosedLoop ? 8 : 4,
    expectedMilliseconds: 250,
    limitMilliseconds: 20_000,
    command: (subject) => [
      load,
      programNamed(subject),
      work.test,
      isOneThread ? 'one' : 'cores',
      isBlocked ? 'blocked' : 'quiet',
      String(rate ?? 0),
      condition,
      ...(work === redis ? [redisAddress] : []),
    ],
  };
  const about = [work.about, ...aboutSetting(setting)].join(' ');
  const rows = measures
    .filter(({ measure }) => isClosedLoop || measure !== 'rate')
    .map((line): Row => ({ ...line, row: rowName(name, line), cell: name, about }));
  // Beside its main row a cell shows the cost of the rate or the latency: processor time and context switches.
  const isShown = ({ measure }: Row) =>
    measure === (isClosedLoop ? 'rate' : 'p99') ||
    measure === 'processor' ||
    measure === 'switches';
  const matrix = (row: Row): Row => ({
    ...row,
    matrix: {
      title: isClosedLoop ? 'Closed loop: latency' : 'At a rate: latency',
      block: `${row.measure}, ${row.unit}`,
      column: nameOf(work.short, setting),
    },
  });
  return {
    cell,
    rows: [...rows.filter(isShown), ...rows.filter((row) => !isShown(row)).map(matrix)],
  };
}

function nameOf(work: string, { rate, isOneThread, isBlocked, condition }: Setting): string {
  return [
    work,
    rate === undefined ? '' : `${rate.toLocaleString('en-US')} requests/s`,
    isOneThread ? 'on one thread' : '',
    isBlocked ? 'a task blocks' : '',
    condition === undefined || condition === 'quiet' ? '' : condition,
  ]
    .filter(Boolean)
    .join(', ');
}

function rowName(name: string, { measure }: Line): string {
  const words = measureWords[measure] ?? measure;
  return words === '' ? name : `${name}: ${words}`;
}

function aboutSetting({ rate, comesByTheClock, isOneThread, isBlocked }: Setting): string[] {
  if (comesByTheClock) return [];
  return [
    isOneThread ? 'The runtime has one thread.' : '',
    isBlocked ? 'Every 50 ms a task blocks its worker for 10 ms by `std::thread::sleep`.' : '',
    rate === undefined
      ? 'Closed loop: a late answer delays the next request, so a server that stalls delays few requests.'
      : 'Requests are due at times that do not depend on answers; latency counts from the due time.',
  ].filter(Boolean);
}
