/**
 * The cells that run in a process of their own: their subjects, floors and workloads. All run in the lab's own Node,
 * those of queues in other runtimes too.
 */
import bareCounter from '../floors/bare-counter.js';
import barePromises from '../floors/bare-promises.js';
import calledDirectly from '../floors/called-directly.js';
import promisesWithListeners from '../floors/promises-with-listeners.js';
import sharedPromise from '../floors/shared-promise.js';
import { otherRuntimes } from '../runtimes.js';
import { has, type PermitForm, type RunForm, type With } from '../subject.js';
import { abortedPermits, abortedRuns } from '../workloads/aborted.js';
import { documentAwaited } from '../workloads/awaited.js';
import { contendedByOne, contendedByTen } from '../workloads/contended.js';
import { deepQueue } from '../workloads/deep.js';
import { queueOfTen } from '../workloads/depth.js';
import { runQueued, runSerial } from '../workloads/run.js';
import { triedFirst, uncontended } from '../workloads/uncontended.js';
import { enterWithPermit, enterWithRun } from './checks.js';
import { type InProcess, inProcessCell } from './in-process.js';

const waiting: InProcess<PermitForm> = {
  id: 'waiting',
  limit: 1,
  floor: barePromises,
  form: ({ permits }) => permits,
  enter: enterWithPermit,
  workloads: { documentAwaited, contendedByOne, queueOfTen },
};

export const waitingCell = inProcessCell(waiting);

/** The same in each of the other runtimes. */
export const waitingElsewhere = otherRuntimes.map(({ name, program }) => ({
  name,
  cell: inProcessCell({ ...waiting, id: `waiting, ${name}`, runtime: program }),
}));

export const contendedByTenCell = inProcessCell<PermitForm>({
  id: 'contended-10',
  limit: 10,
  floor: barePromises,
  form: ({ permits }) => (permits?.onlyOne ? undefined : permits),
  enter: enterWithPermit,
  workloads: { contendedByTen },
});

export const uncontendedCell = inProcessCell<PermitForm>({
  id: 'uncontended',
  limit: 1,
  floor: sharedPromise,
  form: ({ permits }) => permits,
  enter: enterWithPermit,
  workloads: { uncontended },
});

export const triedFirstCell = inProcessCell<With<PermitForm, 'tryAcquire'>>({
  id: 'tried-first',
  limit: 1,
  floor: bareCounter,
  form: ({ permits }) => (has(permits, 'tryAcquire') ? permits : undefined),
  enter: enterWithPermit,
  workloads: { triedFirst },
});

export const deepCell = inProcessCell<PermitForm>({
  id: 'deep',
  sliceMilliseconds: 100,
  limit: 1,
  floor: barePromises,
  form: ({ permits }) => permits,
  enter: enterWithPermit,
  workloads: { deepQueue },
});

export const abortedCell = inProcessCell<
  With<PermitForm, 'acquireWithSignal'> | With<RunForm, 'runWithSignal'>
>({
  id: 'aborted',
  sliceMilliseconds: 50,
  limit: 1,
  floor: promisesWithListeners,
  form: ({ permits, run }) => {
    if (has(permits, 'acquireWithSignal')) return permits;
    return has(run, 'runWithSignal') ? run : undefined;
  },
  enter: (form, library, limit) =>
    'acquire' in form ? enterWithPermit(form, library, limit) : enterWithRun(form, library, limit),
  workloads: {
    aborted: (form, library) =>
      'acquire' in form ? abortedPermits(form, library) : abortedRuns(form, library),
  },
});

// A queue that calls the next function from the end of the previous one is fast but loses the caller's
// AsyncLocalStorage context; this cell detects it.
export const runCell = inProcessCell<RunForm>({
  id: 'run',
  limit: 1,
  floor: calledDirectly,
  form: ({ run }) => run,
  enter: enterWithRun,
  workloads: { runSerial, runQueued },
});
