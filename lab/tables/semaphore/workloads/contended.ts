/**
 * 200 tasks that take turns: each acquires and releases 25 times, so nearly all of them wait all the time. With a
 * limit of 1 the holder releases at once; with 10 it holds over one `await`.
 */

import { expectCount, type Workload } from '../../../harness/workload.js';
import type { PermitForm } from '../subject.js';

const tasks = 200;
const turns = 25;
const resolved = Promise.resolve();

export function contendedByOne(form: PermitForm, library: unknown): Workload {
  const { acquire, release } = form;
  let count = 0;

  async function task(semaphore: unknown): Promise<void> {
    for (let turn = 0; turn < turns; turn++) {
      const permit = await acquire(semaphore);
      count += 1;
      release(semaphore, permit);
    }
  }

  return takingTurns(form, library, 1, task, () => {
    expectCount('turns taken', count, tasks * turns);
    count = 0;
  });
}

export function contendedByTen(form: PermitForm, library: unknown): Workload {
  const { acquire, release } = form;
  let count = 0;
  let inside = 0;
  let most = 0;

  async function task(semaphore: unknown): Promise<void> {
    for (let turn = 0; turn < turns; turn++) {
      const permit = await acquire(semaphore);
      inside += 1;
      if (inside > most) most = inside;
      await resolved;
      inside -= 1;
      count += 1;
      release(semaphore, permit);
    }
  }

  return takingTurns(form, library, 10, task, () => {
    expectCount('turns taken', count, tasks * turns);
    expectCount('most inside at once', most, 10);
    count = 0;
    most = 0;
  });
}

function takingTurns(
  { create, open }: PermitForm,
  library: unknown,
  limit: number,
  task: (semaphore: unknown) => Promise<void>,
  check: () => void,
): Workload {
  async function batch(): Promise<void> {
    const semaphore = create(library, limit);
    const running: Promise<void>[] = [];
    for (let started = 0; started < tasks; started++) running.push(task(semaphore));
    open?.(semaphore, limit);
    await Promise.all(running);
    check();
  }
  return { operations: tasks * turns, batch };
}
