/**
 * Every subject of the table, in the order of the report: ours, the published document's own library, its algorithm in
 * TypeScript, a hand-written lock, the peers (each with its defaults and in its fastest setting), the floors.
 *
 * Not included: locks in other languages than ours and the document's.
 *
 * To add a peer, add a file to this folder and an entry here. The cells include it.
 */
import type { Subject } from '../../../harness/table.js';
import handOverInProcess from '../floors/hand-over-in-process.js';
import roundTrip from '../floors/round-trip.js';
import type { ForeignSubject, LockSubject } from '../subject.js';
import handMade from './hand-made.js';
import pointsmanLocal from './pointsman-local.js';
import pointsmanPure from './pointsman-pure.js';
import pointsmanStrict from './pointsman-strict.js';
import publishedAlgorithm from './published-algorithm.js';
import { pureHandler, scriptHandler } from './redis-em-mutex.js';
import redisSemaphore from './redis-semaphore.js';
import redisSemaphoreFast from './redis-semaphore-fast.js';
import redlock from './redlock.js';
import redlockFast from './redlock-fast.js';
import redlockUniversal from './redlock-universal.js';
import redlockUniversalFast from './redlock-universal-fast.js';
import sesamecareRedlock from './sesamecare-redlock.js';
import sesamecareRedlockFast from './sesamecare-redlock-fast.js';
import simpleRedisMutex from './simple-redis-mutex.js';

const ours = [pointsmanLocal, pointsmanStrict, pointsmanPure];

/** Peers in their fastest settings. Some have no settings, and simple-redis-mutex is fastest with its defaults. */
const fastestPeers = [
  publishedAlgorithm,
  handMade,
  redlockFast,
  sesamecareRedlockFast,
  redisSemaphoreFast,
  redlockUniversalFast,
  simpleRedisMutex,
];

const peersWithDefaults = [redlock, sesamecareRedlock, redisSemaphore, redlockUniversal];

export const fastestSubjects: readonly LockSubject[] = [...ours, ...fastestPeers];

export const contenders: readonly LockSubject[] = [...fastestSubjects, ...peersWithDefaults];

/** Peers in another language, whose own programs do the document's tests. */
export const foreignSubjects: readonly ForeignSubject[] = [scriptHandler, pureHandler];

export { handOverInProcess, roundTrip };

const lockSubjects = [...contenders, handOverInProcess, roundTrip];

/** In the order of the report. */
export const subjects: readonly Subject[] = [
  ...ours,
  ...foreignSubjects,
  ...lockSubjects.slice(ours.length),
];

export function lockSubjectNamed(name: string): LockSubject {
  const found = lockSubjects.find((subject) => subject.name === name);
  if (!found) {
    const names = lockSubjects.map((subject) => subject.name).join(', ');
    throw new RangeError(`subject ${JSON.stringify(name)}: expected one of ${names}`);
  }
  return found;
}
