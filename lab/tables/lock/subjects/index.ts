/**
 * Every subject of the table, in the order of the report: ours, the published document's own library, its algorithm in
 * TypeScript, a hand-written lock without and with a queue in the process, the peers, the floors.
 *
 * Not included: locks in other languages than ours and the document's.
 *
 * To add a peer, add a file to this folder and an entry here. The cells include it.
 */
import type { Subject } from '../../../harness/table.js';
import handOverInProcess from '../floors/hand-over-in-process.js';
import roundTrip from '../floors/round-trip.js';
import type { LockSubject } from '../subject.js';
import handMade from './hand-made.js';
import { hostLocks } from './host-locks.js';
import localQueue from './local-queue.js';
import { local, pure, strict } from './pointsman.js';
import publishedAlgorithm from './published-algorithm.js';
import { foreignSubjects } from './redis-em-mutex.js';
import { redisSemaphore, redisSemaphoreFast } from './redis-semaphore.js';
import { redlock, redlockFast, sesamecareFast } from './redlock.js';
import redlockUniversal from './redlock-universal.js';
import { rwLocks } from './rw-locks.js';
import { semaphores } from './semaphores.js';
import simpleRedisMutex from './simple-redis-mutex.js';

export { foreignSubjects, handOverInProcess };

/** Peers that ask the server at each hand-over, in their fastest settings. */
const peersAtServer = [publishedAlgorithm, redlockFast, sesamecareFast];
/** Slower peers, for which the headline would have to wait. */
const slowPeers = [handMade, redisSemaphoreFast, redlockUniversal, simpleRedisMutex];
const peersWithDefaults = [redlock, redisSemaphore];
const floors = [handOverInProcess, roundTrip];

/** The subjects of the document's test 1. */
export const test1Subjects: readonly Subject[] = [
  ...[local, strict, pure],
  ...foreignSubjects,
  ...[localQueue, ...peersAtServer],
  ...floors,
];

/** The subjects of test 1 without a queue in the process. */
export const atServerSubjects = [strict, ...peersAtServer, roundTrip];

export const warmSubjects = [
  ...[local, strict, localQueue],
  ...[...peersAtServer, ...slowPeers, ...peersWithDefaults],
  ...floors,
];

/** The peers of the longer cells, in which the other peers behave as in test 1. */
const fewPeers = [localQueue, publishedAlgorithm, handMade, redlockFast, redisSemaphoreFast];

/** The subjects of the document's test 2. */
export const test2Subjects: readonly Subject[] = [
  ...[local, strict],
  ...foreignSubjects,
  ...[...fewPeers, simpleRedisMutex],
  handOverInProcess,
];

export const processesSubjects = [local, strict, ...fewPeers, simpleRedisMutex, handOverInProcess];

/** In the order of the report. */
export const subjects = [
  ...new Set([...test1Subjects, ...warmSubjects, ...semaphores, ...rwLocks, ...hostLocks]),
];

const lockSubjects: readonly LockSubject[] = [
  pure,
  ...warmSubjects,
  ...semaphores,
  ...rwLocks,
  ...hostLocks,
];

export function lockSubjectNamed(name: string): LockSubject {
  const found = lockSubjects.find((subject) => subject.name === name);
  if (!found) {
    const names = lockSubjects.map((subject) => subject.name).join(', ');
    throw new RangeError(`subject ${JSON.stringify(name)}: expected one of ${names}`);
  }
  return found;
}
