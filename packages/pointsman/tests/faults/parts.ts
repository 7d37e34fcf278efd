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
  'Trials alternate between the handlers of Redis; rows with an h are on the store of one machine, where one of the processes serves the others.';

export const parts: readonly Part[] = [
  {
    name: 'mutex',
    title: 'The mutex on Redis',
    text: 'Processes alternate between client libraries (ioredis, node-redis) and modes (local, strict), trials between handlers (script, pure).',
    faults: matrix,
  },
  {
    name: 'host',
    title: 'The mutex on one machine',
    text: 'The store `host` has no server: one of the processes serves the others, so every kill and every stop may hit the server.',
    faults: hostMatrix,
  },
  {
    name: 'rwlock',
    title: 'The read-write lock',
    text: `Two of three requests are readers, and one of five writers becomes a reader. A writer and any other valid holder of a key are an overlap. ${bothStores}`,
    faults: rwlockMatrix,
  },
  {
    name: 'semaphore',
    title: 'The semaphore',
    text: `Each key has 4 permits, and requests take 1 to 4 of each of their keys. Valid holders with more than 4 permits of a key are an overlap. ${bothStores}`,
    faults: semaphoreMatrix,
  },
  {
    name: 'leader',
    title: 'The leader',
    text: `Each process campaigns in each of 3 to 8 elections, leads for a moment and resigns. Two valid terms of an election are an overlap, and each term has a higher token than all before it. ${bothStores}`,
    faults: leaderMatrix,
  },
  {
    name: 'million',
    title: 'A million sections of each',
    text: 'The second row of the parts above, repeated until it has a million critical sections; each trial begins with an empty store.',
    faults: millionMatrix,
    sections: 1_000_000,
  },
  {
    name: 'limiter',
    title: 'The limiter',
    text: `Each process loads four limiters beyond their limits: one with 50 starts in 500 ms, one with 500 in a second, one with 2,000 in 2 s and a lease of 10, and one that has a window, a bucket, a rate for each of three keys, a concurrency of 8, weights from 1 to 4, and \`settle\`. The clocks of the processes are up to 20 s apart, and jump. Some requests are aborted.

The judge reads what the store replied and when each start really was, by the machine's clock. It derives the distance of the store's clock from all replies together. In every row

- no start is without a grant of the store, and none is before the moment that the store gave it;
- no window of these moments has more than the limit, and no bucket more than its burst. A start can be later than its moment, by the way of the reply; starts of a lease are judged by their real time;
- the requests that run have no more than the concurrency together;
- every request is answered, and every error is explained by the fault.

A store that forgets starts, as in the rows that say so, can know only those that came after. There the judge applies the law to the starts that were granted before the loss and to those granted after, and counts the windows in which both together are above the limit.`,
    faults: limiterMatrix,
  },
];
