/** The parts of the report, in its order: the faults of one primitive each. */
import type { Fault } from './fault.js';
import { hostMatrix } from './matrix/host.js';
import { matrix } from './matrix/index.js';
import { limiterMatrix } from './matrix/limiter.js';
import { leaderMatrix, millionMatrix, rwlockMatrix, semaphoreMatrix } from './matrix/shared.js';

export interface Part {
  /** Its name on the command line. */
  readonly name: string;
  readonly title: string;
  readonly text: string;
  readonly faults: readonly Fault[];
  /** Each fault is repeated until it has as many critical sections. */
  readonly sections?: number;
}

const bothStores =
  'Trials alternate between the handlers `script` and `pure` of the store on Redis. Rows with an h use the store `host`, where one of the processes serves the others.';

export const parts: readonly Part[] = [
  {
    name: 'mutex',
    title: 'The mutex on Redis',
    text: 'Processes alternate between the client libraries (ioredis, node-redis) and the modes (`local`, `strict`). Trials alternate between the handlers (`script`, `pure`).',
    faults: matrix,
  },
  {
    name: 'host',
    title: 'The mutex on one machine',
    text: 'The store `host` has no server: one of the processes serves the others, so every kill and every stop may hit the serving process.',
    faults: hostMatrix,
  },
  {
    name: 'rwlock',
    title: 'The read-write lock',
    text: `Two of three requests are readers, and one of five writers becomes a reader. A writer that is valid at the same time as any other holder of the key is a violation. ${bothStores}`,
    faults: rwlockMatrix,
  },
  {
    name: 'semaphore',
    title: 'The semaphore',
    text: `Each key has 4 permits, and requests take 1 to 4 of each of their keys. Valid holders of more than 4 permits of a key are a violation. ${bothStores}`,
    faults: semaphoreMatrix,
  },
  {
    name: 'leader',
    title: 'The leader',
    text: `Each process campaigns in each of 3 to 8 elections, leads for a moment and resigns. Two valid terms of an election at the same time are a violation, and each term has a higher token than all before it. ${bothStores}`,
    faults: leaderMatrix,
  },
  {
    name: 'million',
    title: 'Long runs of kills and stops',
    text: 'The second row of the read-write lock (w2, wh2), the semaphore (s2, sh2) and the leader (l2, lh2), repeated until it has a million critical sections. Each trial begins with an empty store.',
    faults: millionMatrix,
    sections: 1_000_000,
  },
  {
    name: 'limiter',
    title: 'The limiter',
    text: `Each process requests more starts than four limiters admit:

- \`exact\`: 50 starts in 500 ms;
- \`high\`: 500 in a second;
- \`leased\`: 2,000 in 2 s, with a lease of 10;
- \`mixed\`: a window, a bucket, a rate for each of three keys, a concurrency of 8, weights from 1 to 4, and \`settle\`.

The clocks of the processes are up to 20 s apart, and jump. Some requests are aborted.

The judge reads the store's replies and the actual time of each start, by the machine's clock. The replies together tell it how far the store's clock is from the machine's. In every row:

- Every start has a grant of the store, and none is before the start time that the store gave it.
- No window has more start times than the limit, and no bucket more than its burst. A request can start later than its start time, because the reply takes time. Starts of a lease are judged by their actual time.
- A start of a lease that the process began in time, but was paused before, counts as _late after a pause_, not as a violation.
- The total weight of the running requests never exceeds the concurrency.
- Every request settles, and only errors that the fault explains occur.

In rows in which the store loses starts, it can count only the later ones. There the judge checks the starts before the loss and those after it separately, and reports the windows in which both together exceed the limit.`,
    faults: limiterMatrix,
  },
];
