/**
 * 5,000 waiters behind one holder, of which every second one is cancelled before the holder releases; each of those
 * has its own AbortController. Exactly the others must be granted.
 *
 * The controllers are created before the clock starts and abort with an existing reason, so the row measures leaving
 * the queue and not the creation of an AbortError.
 */

import { expectCount, type Workload } from '../../../harness/workload.js';
import type { PermitForm, RunForm, With } from '../subject.js';

const waiters = 5_000;
const givenUp = new Error('given up');

export function abortedPermits(
  form: With<PermitForm, 'acquireWithSignal'>,
  library: unknown,
): Workload {
  const { create, acquire, acquireWithSignal, release, open } = form;
  const semaphore = create(library, 1);
  const { counts, controllers, beforeEach } = tally();

  async function patient(): Promise<void> {
    const permit = await acquire(semaphore);
    counts.entered += 1;
    release(semaphore, permit);
  }

  async function givingUp(signal: AbortSignal): Promise<void> {
    let permit: unknown;
    try {
      permit = await acquireWithSignal(semaphore, signal);
    } catch {
      counts.left += 1;
      return;
    }
    counts.intruded += 1;
    release(semaphore, permit);
  }

  async function batch(): Promise<void> {
    const holding = acquire(semaphore);
    open?.(semaphore, 1);
    const permit = await holding;
    let last: Promise<void> | undefined;
    for (const controller of controllers) {
      void givingUp(controller.signal);
      last = patient();
    }
    for (const controller of controllers) controller.abort(givenUp);
    release(semaphore, permit);
    await last;
    check(counts);
  }

  return { operations: waiters, batch, beforeEach };
}

export function abortedRuns(
  { create, run, runWithSignal }: With<RunForm, 'runWithSignal'>,
  library: unknown,
): Workload {
  const runner = create(library, 1);
  const { counts, controllers, beforeEach } = tally();

  async function patient(): Promise<void> {
    counts.entered += 1;
  }

  async function intruder(): Promise<void> {
    counts.intruded += 1;
  }

  async function givingUp(signal: AbortSignal): Promise<void> {
    try {
      await runWithSignal(runner, intruder, signal, library);
    } catch {
      counts.left += 1;
    }
  }

  async function batch(): Promise<void> {
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    void run(runner, () => held, library);
    let last: Promise<unknown> | undefined;
    for (const controller of controllers) {
      void givingUp(controller.signal);
      last = run(runner, patient, library);
    }
    for (const controller of controllers) controller.abort(givenUp);
    letGo();
    await last;
    check(counts);
  }

  return { operations: waiters, batch, beforeEach };
}

interface Counts {
  entered: number;
  left: number;
  intruded: number;
}

function tally() {
  const counts: Counts = { entered: 0, left: 0, intruded: 0 };
  const controllers: AbortController[] = [];
  function beforeEach(): void {
    Object.assign(counts, { entered: 0, left: 0, intruded: 0 });
    for (let index = 0; index < waiters / 2; index++) controllers[index] = new AbortController();
  }
  return { counts, controllers, beforeEach };
}

function check(counts: Counts): void {
  expectCount('aborted waiters that got in', counts.intruded, 0);
  expectCount('aborted waiters that left', counts.left, waiters / 2);
  expectCount('others that got in', counts.entered, waiters / 2);
}
