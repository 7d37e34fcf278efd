/**
 * `run(fn)`, which releases by itself, with one async function on a limit of 1: one call after the other, and 5,000
 * queued. Functions on a limit of 10 are in the table `vocabulary`.
 */

import { expectCount, type Workload } from '../../../harness/workload.js';
import type { RunForm } from '../subject.js';

const calls = 5_000;

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

export function runQueued({ create, run }: RunForm, library: unknown): Workload {
  const results: Promise<unknown>[] = [];
  let count = 0;

  async function work(): Promise<void> {
    count += 1;
  }

  async function batch(): Promise<void> {
    count = 0;
    const runner = create(library, 1);
    for (let call = 0; call < calls; call++) results[call] = run(runner, work, library);
    await Promise.all(results);
    expectCount('functions run', count, calls);
  }

  return { operations: calls, batch };
}
