/**
 * Every subject of the table, in the order of the report: ours, the peers of the published document, the other
 * semaphores and locks, those that only run a function, the floors.
 *
 * Not included: bottleneck (2 ms for each queued function), packages with under 10,000 downloads a week that no
 * published document names, and packages published on JSR alone.
 *
 * To add a peer, add a file to this folder and an entry here. The cells include it according to its forms; only the
 * document's cell names its subjects.
 */

import bareCounter from '../floors/bare-counter.js';
import barePromises from '../floors/bare-promises.js';
import calledDirectly from '../floors/called-directly.js';
import emptyRequest from '../floors/empty-request.js';
import promisesWithListeners from '../floors/promises-with-listeners.js';
import sharedPromise from '../floors/shared-promise.js';
import type { SemaphoreSubject } from '../subject.js';
import asyncLock from './async-lock.js';
import asyncMutex from './async-mutex.js';
import asyncSema from './async-sema.js';
import awaitSemaphore from './await-semaphore.js';
import effect from './effect.js';
import esToolkit from './es-toolkit.js';
import fastq from './fastq.js';
import henrygdQueue from './henrygd-queue.js';
import henrygdQueueAsyncStorage from './henrygd-queue-async-storage.js';
import henrygdSemaphore from './henrygd-semaphore.js';
import pLimit from './p-limit.js';
import pQueue from './p-queue.js';
import pointsman from './pointsman.js';
import radashi from './radashi.js';
import rocicorpLock from './rocicorp-lock.js';
import sapphireAsyncQueue from './sapphire-async-queue.js';
import semaphoreAsyncAwait from './semaphore-async-await.js';
import shopifySemaphore from './shopify-semaphore.js';

export const subjects: readonly SemaphoreSubject[] = [
  pointsman,
  henrygdSemaphore,
  asyncMutex,
  asyncSema,
  shopifySemaphore,
  awaitSemaphore,
  esToolkit,
  semaphoreAsyncAwait,
  radashi,
  rocicorpLock,
  sapphireAsyncQueue,
  henrygdQueue,
  henrygdQueueAsyncStorage,
  pLimit,
  pQueue,
  fastq,
  asyncLock,
  effect,
  emptyRequest,
  barePromises,
  sharedPromise,
  bareCounter,
  promisesWithListeners,
  calledDirectly,
];

export function subjectNamed(name: string): SemaphoreSubject {
  const found = subjects.find((subject) => subject.name === name);
  if (!found) {
    const names = subjects.map((subject) => subject.name).join(', ');
    throw new RangeError(`subject ${JSON.stringify(name)}: expected one of ${names}`);
  }
  return found;
}
