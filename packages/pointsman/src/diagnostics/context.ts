/** Contexts: what runs as one runTask, with a name by which reports call it. */

import { invalid } from '../sync/errors.js';
import { type ContextStore, platform } from './platform.js';
import { Context } from './record.js';

let store: ContextStore<Context> | undefined | null = null;

function contexts(): ContextStore<Context> | undefined {
  if (store === null) store = platform().createStore?.<Context>();
  return store;
}

/** The context of whoever calls, if it has one. */
export const currentContext = (): Context | undefined => contexts()?.getStore();

/** A part of the present context, which goes on only when this one has ended. */
export function contextWithin(): Context {
  const parent = currentContext();
  return new Context(parent?.name, parent);
}

export function runIn<Result>(context: Context, fn: () => Result): Result {
  const store = contexts();
  return store === undefined ? fn() : store.run(context, fn);
}

/**
 * Runs `fn` as a task with a name, by which snapshots, events and reports call whatever it holds and waits for. Whatever
 * it calls belongs to it, also after an `await`, except other tasks. Returns what `fn` returns.
 *
 * In Node a name is all that it gives. Where there are no promise hooks (Deno, Bun), a task is also what deadlocks are found
 * among: whatever runs in a task that holds a lock keeps the lock from coming back while it waits, so what is started
 * there and not awaited should be a task of its own. Where there is no `AsyncLocalStorage` (browsers), it only runs `fn`.
 *
 * @throws {TypeError} for a name that is no string, and for a `fn` that is no function; and what `fn` throws.
 *
 * @example
 * ```ts
 * import { Mutex } from 'pointsman';
 * import { snapshot, runTask, watched } from 'pointsman/diagnostics';
 *
 * const mutex = watched(new Mutex({ name: 'ledger' }));
 * const lock = await runTask('nightly report', () => mutex.lock());
 * console.log(snapshot().primitives[0]?.holders[0]?.context); // nightly report
 * lock.release();
 * ```
 */
export function runTask<Result>(name: string, fn: () => Result): Result {
  if (typeof name !== 'string') throw invalid('name', name, 'a string');
  if (typeof fn !== 'function') throw invalid('fn', fn, 'a function');
  return runIn(new Context(name), fn);
}
