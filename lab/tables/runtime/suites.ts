/**
 * The document's suites: each test and its published figures.
 *
 * Figures are in microseconds, those of the suite `timer` in nanoseconds, in the order Nio, Tokio. Invariant: the
 * tests are in the document's order, and the names are the document's.
 */
import type { Floor } from './programs.js';
import { plainQueue, polledInPlace, workAlone } from './subjects.js';

export interface Test {
  readonly suite: string;
  readonly test: string;
  readonly unit: string;
  readonly published?: readonly [nio: number, tokio: number];
  /** The document's number of workers, if more than two. */
  readonly workers?: number;
  /** Whether one thread does the work, in both forms. */
  readonly isOneThread?: boolean;
  /** Whether it is measured only as published, because natively it would repeat another test. */
  readonly isOnlyPublished?: boolean;
  readonly floor?: Floor;
  readonly about: string;
}

type Described = Omit<Test, 'suite' | 'unit'>;

function suite(suite: string, tests: readonly Described[], unit = 'µs'): Test[] {
  return tests.map((test) => ({ suite, unit, ...test }));
}

function polled(futures: number): Floor {
  return { subject: polledInPlace.name, test: `polled/${futures}` };
}

function worked(receivers: number): Floor {
  return { subject: workAlone.name, test: `worked/${receivers}` };
}

/** A test for each of these numbers. */
function byNumber(
  published: Readonly<Record<number, readonly [number, number]>>,
  describe: (number: number) => Omit<Described, 'published'>,
): Described[] {
  return Object.entries(published).map(([number, figures]) => ({
    published: figures,
    ...describe(Number(number)),
  }));
}

const rtCurrentThread = suite('rt_current_thread', [
  {
    test: 'rt_spawn_many_local',
    published: [94.34, 168.89],
    isOneThread: true,
    isOnlyPublished: true,
    about: 'On one worker: 1,000 empty tasks are spawned and awaited.',
  },
  {
    test: 'spawn_many_remote_busy',
    published: [89.84, 172.65],
    isOneThread: true,
    isOnlyPublished: true,
    about: 'The same, while a task that spawns itself again keeps the queue busy.',
  },
]);

const rtMultiThreaded = suite(
  'rt_multi_threaded',
  [
    {
      test: 'spawn_many_local',
      published: [2_694, 2_524] as const,
      floor: polled(10_000),
      about:
        'The main thread spawns 10,000 tasks from outside, which count down together; the last one notifies it.',
    },
    {
      test: 'spawn_many_remote',
      published: [1_110, 1_481] as const,
      floor: polled(10_000),
      about: 'Four tasks, pinned if the runtime supports it, each spawn and await 2,500.',
    },
    {
      test: 'spawn_many_remote_idle',
      published: [1_598, 2_464] as const,
      floor: polled(10_000),
      about: 'The main thread spawns 10,000 empty tasks from outside and awaits them.',
    },
    {
      test: 'spawn_many_remote_busy1',
      published: [1_558, 1_801] as const,
      floor: polled(10_000),
      about:
        '10,000 empty tasks are spawned and awaited, while eight others work for 10 µs at a time and yield.',
    },
    {
      test: 'spawn_many_remote_busy2',
      published: [129.42, 31_277] as const,
      floor: polled(1_000),
      about:
        'The main thread spawns 1,000 empty tasks from outside and awaits them, while four others work for 10 µs and spawn themselves again.',
    },
    {
      test: 'ping_pong',
      published: [353.3, 313.1] as const,
      about: '1,000 tasks each spawn a partner, send to it and await its answer.',
    },
    {
      test: 'yield_many',
      published: [3_015, 3_092] as const,
      about: '200 tasks yield 1,000 times each.',
    },
    {
      test: 'chained_spawn',
      published: [95.075, 206.94] as const,
      about: 'A chain of 1,000 tasks: each spawns the next, the last one notifies the main thread.',
    },
  ].map((test) => ({ ...test, workers: 4 })),
);

const spawnBlocking = suite(
  'spawn_blocking',
  byNumber(
    {
      1: [1_940, 2_930],
      2: [4_240, 4_170],
      4: [8_480, 10_630],
      8: [17_230, 23_870],
      16: [27_570, 48_960],
    },
    (tasks) => ({
      test: `concurrency/${tasks}`,
      isOnlyPublished: true,
      about: `${tasks === 1 ? 'A task calls' : `${tasks} tasks call`} \`spawn_blocking\` 1,600 times${tasks === 1 ? '' : ' each'}, 16 at a time, with an empty function.`,
    }),
  ),
);

const spawnFigures = {
  basic: {
    10: [11.14, 3.87],
    100: [23.05, 24.44],
    1000: [130.8, 218.63],
    10000: [1_217, 2_313],
  },
  threaded: {
    10: [22.87, 4.31],
    100: [23.87, 23.18],
    1000: [124.97, 257.75],
    10000: [1_106, 2_578],
  },
} as const;

const spawnMany = suite(
  'spawn',
  (['basic', 'threaded'] as const).flatMap((scheduler) =>
    byNumber(spawnFigures[scheduler], (tasks) => ({
      test: `${scheduler}_scheduler_spawn_${tasks}`,
      isOneThread: scheduler === 'basic',
      isOnlyPublished: ![10, 1_000].includes(tasks),
      floor: polled(tasks),
      about: `On ${scheduler === 'basic' ? 'one worker' : 'two workers'}: ${tasks.toLocaleString('en-US')} tasks that yield once and return a number are spawned and awaited.`,
    })),
  ),
);

const syncBroadcast = suite(
  'sync_broadcast',
  byNumber(
    {
      10: [1_898, 1_834],
      100: [4_501, 4_935],
      500: [15_574, 15_804],
      1000: [30_954, 29_251],
    },
    (receivers) => ({
      test: `contention/${receivers}`,
      workers: 6,
      isOnlyPublished: ![10, 1_000].includes(receivers),
      floor: worked(receivers),
      about: `100 times a value is sent to ${receivers} receivers, each of which works on it for about a microsecond before the next one is sent.`,
    }),
  ),
);

const syncMpscOneshot = suite('sync_mpsc_oneshot', [
  {
    test: 'request_reply',
    published: [219.53, 1_994],
    isOneThread: true,
    about:
      'On one worker: 1,000 requests, one after the other, through a bounded channel to a task that answers each through a oneshot.',
  },
  {
    test: 'request_reply #2',
    published: [230.5, 3_127],
    about: 'The same on two workers.',
  },
]);

const syncMpsc = suite('sync_mpsc', [
  {
    test: 'contention/unbounded',
    published: [382.48, 432.05],
    workers: 6,
    floor: { subject: plainQueue.name, test: 'queue' },
    about: 'Five tasks send 1,000 numbers each to one receiver.',
  },
  {
    test: 'uncontented/unbounded',
    published: [211.65, 180.52],
    workers: 6,
    floor: { subject: plainQueue.name, test: 'queue' },
    about: 'One task sends 5,000 numbers and then receives them.',
  },
]);

const notifyFigures = {
  notify_one: {
    10: [121.73, 91.541],
    50: [204.25, 90.457],
    100: [192.81, 87.222],
    200: [202.02, 86.915],
    500: [198.4, 85.629],
  },
  notify_waiters: {
    10: [136.45, 128.23],
    50: [198.11, 125.44],
    100: [215.11, 124.7],
    200: [263.39, 125.58],
    500: [329.58, 125.25],
  },
} as const;

const syncNotify = suite(
  'sync_notify',
  (['notify_one', 'notify_waiters'] as const).flatMap((call) =>
    byNumber(notifyFigures[call], (waiters) => ({
      test: `${call}/${waiters}`,
      workers: 6,
      isOnlyPublished: ![10, 500].includes(waiters),
      about: `${waiters} tasks wait in a loop; the main thread calls \`${call}\` without a pause until they have been woken 500 times.`,
    })),
  ),
);

const syncSemaphore = suite('sync_semaphore', [
  {
    test: 'uncontented/multi',
    workers: 6,
    about: 'One task acquires and releases a permit six times. There are ten permits.',
  },
  {
    test: 'uncontented/concurrent_multi',
    workers: 6,
    about: 'Six spawned tasks each acquire and release a permit. There are ten permits.',
  },
  {
    test: 'uncontented/concurrent_single',
    isOneThread: true,
    about: 'Six futures of one task each acquire and release a permit. There are ten permits.',
  },
  {
    test: 'contention/concurrent_multi',
    workers: 6,
    about: 'Six spawned tasks each acquire and release one of five permits.',
  },
  {
    test: 'contention/concurrent_single',
    isOneThread: true,
    about: 'Six futures of one task each acquire and release one of five permits.',
  },
]);

const syncWatch = suite(
  'sync_watch',
  byNumber(
    {
      10: [1_892, 808.97],
      100: [4_279, 3_414],
      500: [15_159, 14_031],
      1000: [26_800, 26_483],
    },
    (receivers) => ({
      test: `contention_resubscribe/${receivers}`,
      workers: 6,
      isOnlyPublished: ![10, 1_000].includes(receivers),
      floor: worked(receivers),
      about: `100 times a value is sent to ${receivers} receivers of a watch, each of which works on it for about a microsecond before the next one is sent.`,
    }),
  ),
);

const timer = suite(
  'timer',
  [
    {
      test: 'single_thread_timeout',
      published: [62.405, 45.661],
      isOneThread: true,
      about:
        'A timeout of a second around a future that is ready at once, by one task. Some runtimes do not register such a timer.',
    },
    {
      test: 'multi_thread_timeout-8',
      published: [16.293, 30.877],
      workers: 8,
      about: 'The same by eight tasks.',
    },
    {
      test: 'single_thread_sleep',
      published: [62.135, 41.127],
      isOneThread: true,
      about: 'A sleep of a second is created and dropped without being polled, by one task.',
    },
    {
      test: 'multi_thread_sleep-8',
      published: [16.557, 32.087],
      workers: 8,
      about: 'The same by eight tasks.',
    },
  ],
  'ns',
);

export const tests: readonly Test[] = [
  ...rtCurrentThread,
  ...rtMultiThreaded,
  ...spawnBlocking,
  ...spawnMany,
  ...syncBroadcast,
  ...syncMpscOneshot,
  ...syncMpsc,
  ...syncNotify,
  ...syncSemaphore,
  ...syncWatch,
  ...timer,
];
