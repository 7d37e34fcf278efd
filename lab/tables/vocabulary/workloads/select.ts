/**
 * Waiting for the first of four channels. The other three must lose nothing: each turn's value goes to another
 * channel, and that turn must receive it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expectCount, type Workload } from '../../../harness/workload.js';
import type { SelectForm } from '../subject.js';

const sources = 4;
const turns = 1_000;
const identity = (value: unknown) => value as number;

/** Checks it with a time limit, because a value lost to another waiter never arrives. */
export async function checkSelect(form: SelectForm, library: unknown): Promise<void> {
  const { create, feed, first, value = identity, left } = form;
  const all = create(library, sources);
  for (let turn = 0; turn < 5 * sources; turn++) {
    const taking = first(all, library);
    feed(all, turn % sources, turn, library);
    const received = await Promise.race([taking, pause(100, undefined)]);
    if (received === undefined) {
      const behind = left ? `: ${left(all)} waiters of turns before are left behind` : '';
      throw new Error(`swallowed the value of turn ${turn + 1}${behind}`);
    }
    expectCount(`value of turn ${turn + 1}`, value(received), turn);
  }
  await pause(0);
  if (left) expectCount('waiters left behind', left(all), 0);
}

/** No value is there, then one arrives. */
export function waited(
  { create, feed, first, value = identity }: SelectForm,
  library: unknown,
): Workload {
  const all = create(library, sources);

  async function batch(): Promise<void> {
    let wrong = 0;
    for (let turn = 0; turn < turns; turn++) {
      const taking = first(all, library);
      feed(all, turn % sources, turn, library);
      if (value(await taking) !== turn) wrong += 1;
    }
    expectCount('wrong values', wrong, 0);
  }

  return { operations: turns, batch };
}

/** A value is already there. */
export function ready(
  { create, feed, first, value = identity }: SelectForm,
  library: unknown,
): Workload {
  const all = create(library, sources);

  async function batch(): Promise<void> {
    let wrong = 0;
    for (let turn = 0; turn < turns; turn++) {
      feed(all, turn % sources, turn, library);
      if (value(await first(all, library)) !== turn) wrong += 1;
    }
    expectCount('wrong values', wrong, 0);
  }

  return { operations: turns, batch };
}
