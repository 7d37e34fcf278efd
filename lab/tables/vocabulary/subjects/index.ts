/**
 * Every subject of the table, in the order of the report: ours, limiters, channels, locks, mappers, the platform's
 * own, the floor.
 *
 * Not included: packages with under 10,000 downloads a week, except @thi.ng/csp, the fastest channel on npm; polyfills
 * of iterator helpers, which map one input at a time; the read-write lock of @rocicorp/lock, which keeps a promise of
 * every reader until the next writer.
 *
 * To add a peer, add a file to this folder and an entry here. The cells include it according to its forms.
 */
import barePromises from '../floors/bare-promises.js';
import type { VocabularySubject } from '../subject.js';
import asyncRwlock from './async-rwlock.js';
import asyncSema from './async-sema.js';
import bottleneck from './bottleneck.js';
import bottleneckMinTime from './bottleneck-min-time.js';
import effect from './effect.js';
import effectInFibers from './effect-in-fibers.js';
import esToolkit from './es-toolkit.js';
import fastq from './fastq.js';
import henrygdQueue from './henrygd-queue.js';
import itPushable from './it-pushable.js';
import limiter from './limiter.js';
import nodeEvents from './node-events.js';
import nodeStreams from './node-streams.js';
import pLimit from './p-limit.js';
import pLimitPThrottle from './p-limit-p-throttle.js';
import pMap from './p-map.js';
import pMapIterable from './p-map-iterable.js';
import pQueue from './p-queue.js';
import pQueueStrict from './p-queue-strict.js';
import pRatelimit from './p-ratelimit.js';
import pThrottle from './p-throttle.js';
import pThrottleStrict from './p-throttle-strict.js';
import pointsman from './pointsman.js';
import raceAborted from './race-aborted.js';
import raceNaive from './race-naive.js';
import repeater from './repeater.js';
import rwlock from './rwlock.js';
import stdAsync from './std-async.js';
import streamingIterables from './streaming-iterables.js';
import thiNgCsp from './thi-ng-csp.js';
import webStreams from './web-streams.js';

export const subjects: readonly VocabularySubject[] = [
  pointsman,
  pQueue,
  pQueueStrict,
  bottleneck,
  bottleneckMinTime,
  pLimit,
  pThrottle,
  pThrottleStrict,
  pLimitPThrottle,
  limiter,
  asyncSema,
  pRatelimit,
  fastq,
  henrygdQueue,
  esToolkit,
  effect,
  effectInFibers,
  stdAsync,
  thiNgCsp,
  repeater,
  itPushable,
  asyncRwlock,
  rwlock,
  pMap,
  pMapIterable,
  streamingIterables,
  nodeStreams,
  webStreams,
  nodeEvents,
  raceAborted,
  raceNaive,
  barePromises,
];

export function subjectNamed(name: string): VocabularySubject {
  const found = subjects.find((subject) => subject.name === name);
  if (!found) {
    const names = subjects.map((subject) => subject.name).join(', ');
    throw new RangeError(`subject ${JSON.stringify(name)}: expected one of ${names}`);
  }
  return found;
}
