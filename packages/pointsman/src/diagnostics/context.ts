/** Contexts: the work of one `runTask`, with the name that reports show. */

import { invalid } from '../sync/errors.js';
import { type ContextStore, platform } from './platform.js';
import { Context } from './record.js';

let store: ContextStore<Context> | undefined | null = null;

function contexts(): ContextStore<Context> | undefined {
  if (store === null) store = platform().createStore?.<Context>();
  return store;
}

/** Returns the context of the caller, if there is one. */
export const currentContext = (): Context | undefined => contexts()?.getStore();

/** Returns a child of the current context. The parent continues only when the child has ended. */
export function contextWithin(): Context {
  const parent = currentContext();
  return new Context(parent?.name, parent);
}

export function runIn<Result>(context: Context, fn: () => Result): Result {
  const store = contexts();
  return store === undefined ? fn() : store.run(context, fn);
}

/**
 * Runs `fn` as a named task. Snapshots, events and reports show the name with every call that `fn` makes, also after an
 * `await`, except those of nested tasks. Returns the result of `fn`.
 *
 * In Node the name is the only effect. Without promise hooks (Deno, Bun), deadlocks are detected between tasks: a task is
 * assumed to release its locks only after all its waits have ended. So give work that a task starts and does not await
 * a task of its own. Without `AsyncLocalStorage` (browsers), `runTask` only runs `fn`.
 *
 * @throws {TypeError} if `name` is not a string or `fn` is not a function. Also throws what `fn` throws.
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
