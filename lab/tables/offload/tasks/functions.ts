/**
 * The functions that the threads run: the same for every pool, each with one argument.
 *
 * Invariant: importing this module loads nothing else, so the first result from cold is the pool's own time; a task
 * loads what it needs when it first runs.
 */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

export function echo<Value>(value: Value): Value {
  return value;
}

/** Transfers the memory and does not copy it. */
export const shared = echo<SharedArrayBuffer>;

/** A fixed amount of work on any machine: the result depends on every turn, so none can be optimised away. */
export function spin(turns: number): number {
  let state = 1;
  for (let turn = 0; turn < turns; turn++) state = (Math.imul(state, 1_103_515_245) + 12_345) | 0;
  return state;
}

/** Computes one half, yields to the thread's event loop once, and computes the other. */
export async function spinAwaiting(turns: number): Promise<number> {
  const first = spin(turns / 2);
  await new Promise((resolve) => setImmediate(resolve));
  return first + spin(turns / 2);
}

const never = new Int32Array(new SharedArrayBuffer(4));

/** Blocks the thread without using the processor, as a synchronous read or a child process does. */
export function block(milliseconds: number): number {
  Atomics.wait(never, 0, 0, milliseconds);
  return milliseconds;
}

let bcrypt: typeof import('bcrypt') | undefined;

/** The function of the published document. */
export function hash(cost: number): string {
  bcrypt ??= require('bcrypt') as typeof import('bcrypt');
  return bcrypt.hashSync('secret', cost);
}
