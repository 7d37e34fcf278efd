/**
 * `run(fn)`, which releases by itself, with one async function: one call after the other, 5,000 queued behind a limit
 * of 1, and 5,000 behind a limit of 10 with one `await` inside.
 */

import { expectCount, type Workload } from '../../../harness/workload.js';
import type { RunForm, Work } from '../subject.js';

const calls = 5_000;
const resolved = Promise.resolve();

export function runSerial({ create, run }: RunForm, library: unknown): Workload {
  const runner = create(library, 1);
  let count = 0;

  async function work(): Promise<void> {
    count += 1;
  }

  async function batch(): Promise<void> {
    count = 0;
    for (let call = 0; call < calls; call++) await run(runner, work, library);
    expectCount('functions run', count, calls);
  }

  return { operations: calls, batch };
}

export function runQueued(form: RunForm, library: unknown): Workload {
  let count = 0;

  async function work(): Promise<void> {
    count += 1;
  }

  return allAtOnce(form, library, 1, work, () => {
    expectCount('functions run', count, calls);
    count = 0;
  });
}

export function runTen(form: RunForm, library: unknown): Workload {
  let count = 0;

  async function work(): Promise<void> {
    await resolved;
    count += 1;
  }

  return allAtOnce(form, library, 10, work, () => {
    expectCount('functions run', count, calls);
    count = 0;
  });
}

function allAtOnce(
  { create, run }: RunForm,
  library: unknown,
  limit: number,
  work: Work,
  check: () => void,
): Workload {
  const results: Promise<unknown>[] = [];

  async function batch(): Promise<void> {
    const runner = create(library, limit);
    for (let call = 0; call < calls; call++) results[call] = run(runner, work, library);
    await Promise.all(results);
    check();
  }

  return { operations: calls, batch };
}
