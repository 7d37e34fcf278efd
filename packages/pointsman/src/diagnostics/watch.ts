/**
 * Watches a primitive: own methods of the object shadow those of its class, call them, and keep a record.
 *
 * Invariant: a primitive that is not watched is not affected, and one that is no longer watched is as before. A watched
 * method grants the same permits in the same order; its promise settles one microtask later.
 */

import { dispose } from '../sync/dispose.js';
import { invalid } from '../sync/errors.js';
import { contextWithin, currentContext, runIn } from './context.js';
import { suspect, suspectAll } from './deadlock.js';
import { type DiagnosticsEvent, emit, isWanted } from './events.js';
import {
  canFollow,
  followHeld,
  followHold,
  followRun,
  followTaken,
  followWait,
  runAs,
  unseen,
} from './flows.js';
import { checkIn } from './held-too-long.js';
import { kindOf, type Operation } from './kinds.js';
import { Flow, type Granted, type Hold, type Request, type Wait, Watched } from './record.js';
import { activityOf } from './snapshot.js';
import { captureStack } from './stack.js';

/** Options for {@link watch}. */
export interface WatchOptions {
  /** The name in reports. Default: `#` and a number. */
  readonly name?: string | undefined;
  /** Report a hold that lasts longer than this, in milliseconds, once. Default: the value given to {@link configure}. */
  readonly heldTooLong?: number | undefined;
}

/** The result of {@link watch}. */
export interface Watching {
  readonly name: string;
  /** Stops watching, as {@link unwatch} does. */
  unwatch(): void;
  [Symbol.dispose](): void;
}

// biome-ignore lint/suspicious/noExplicitAny: a method of any primitive
type Method = (...args: any[]) => unknown;

/** The record of a watched primitive, and a function that restores its methods. */
interface Entry {
  readonly watched: Watched;
  readonly uncover: () => void;
}

const entries = new WeakMap<object, Entry>();
let number = 0;
let heldTooLongForAll: number | undefined;

function checkMilliseconds(name: string, value: unknown): void {
  if (value === undefined || (typeof value === 'number' && value > 0)) return;
  throw invalid(name, value, 'a number of milliseconds above 0', 'number');
}

/**
 * Sets the default options of primitives that are watched from now on.
 *
 * @throws {RangeError | TypeError} if `heldTooLong` is not a positive number.
 */
export function configure(options: { readonly heldTooLong?: number | undefined }): void {
  checkMilliseconds('heldTooLong', options.heldTooLong);
  heldTooLongForAll = options.heldTooLong;
}

/**
 * Watches a primitive until {@link unwatch}: records its holders and waiters, with times and stacks. The primitive may be
 * in use; permits that were granted before are not seen.
 *
 * Each call captures a stack and settles one microtask later. While a watched primitive is held or waited for, Node's
 * promise hooks are active too, which detect deadlocks. Primitives that are not watched cost nothing. Watching keeps
 * nothing alive.
 *
 * @param primitive A `Semaphore`, `Mutex`, `RwLock`, `Limiter`, `Channel`, `Notify`, `Condition`, `Barrier` or `Latch`, one
 * of their keyed forms, or a `SharedMutex`.
 * @throws {TypeError} for any other object, and {RangeError | TypeError} for invalid options.
 *
 * @example
 * ```ts
 * import { Semaphore } from 'pointsman';
 * import { format, snapshot, watch } from 'pointsman/diagnostics';
 *
 * const connections = new Semaphore(2);
 * {
 *   using watching = watch(connections, { name: 'connections' });
 *   console.log(format(snapshot())); // Semaphore connections: 0 of 2 held, 0 waiting
 * }
 * console.log(snapshot().primitives.length); // 0
 * ```
 */
export function watch(primitive: object, options: WatchOptions = {}): Watching {
  const kind = Object(primitive) === primitive ? kindOf(primitive) : undefined;
  if (kind === undefined) throw invalid('primitive', primitive, 'a primitive of pointsman');
  const { name, heldTooLong } = options;
  if (name !== undefined && typeof name !== 'string') throw invalid('name', name, 'a string');
  checkMilliseconds('heldTooLong', heldTooLong);
  let entry = entries.get(primitive);
  if (entry === undefined) {
    const watched = new Watched(primitive, kind, name ?? `#${++number}`);
    entry = { watched, uncover: cover(primitive, watched) };
    entries.set(primitive, entry);
    watched.heldTooLong = heldTooLongForAll;
  } else if (name !== undefined) {
    entry.watched.name = name;
  }
  const { watched } = entry;
  if (heldTooLong !== undefined) watched.heldTooLong = heldTooLong;
  const end = (): void => {
    if (entries.get(primitive)?.watched === watched) unwatch(primitive);
  };
  return { name: watched.name, unwatch: end, [dispose]: end } as Watching;
}

/**
 * Calls {@link watch} and returns the primitive: `const mutex = watched(new Mutex(), { name: 'ledger' })`.
 *
 * @throws As {@link watch}.
 */
export function watched<Primitive extends object>(
  primitive: Primitive,
  options?: WatchOptions,
): Primitive {
  watch(primitive, options);
  return primitive;
}

/** Stops watching a primitive and deletes its record. Does nothing if it is not watched. */
export function unwatch(primitive: object): void {
  const entry = entries.get(primitive);
  if (entry === undefined) return;
  entries.delete(primitive);
  entry.uncover();
  entry.watched.end();
}

/** Shadows the methods of a primitive. Returns a function that removes them again. */
function cover(primitive: object, watched: Watched): () => void {
  const undo: (() => void)[] = [];
  for (const [name, operation] of Object.entries(watched.kind.operations)) {
    const original = (primitive as Record<string, Method>)[name];
    if (typeof original !== 'function') continue;
    const own = observe(watched, name, operation, original);
    undo.push(define(primitive, name, own));
  }
  return () => {
    for (const each of undo) each();
  };
}

/** Defines a non-enumerable property. Returns a function that restores the object. */
function define(object: object, name: string, value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(object, name);
  Object.defineProperty(object, name, { value, configurable: true, writable: true });
  return () => {
    if (before === undefined) Reflect.deleteProperty(object, name);
    else Object.defineProperty(object, name, before);
  };
}

/** Reads the arguments of a call. Does not check them: the method does, and a refused request is removed again. */
function requestOf(
  watched: Watched,
  name: string,
  { arguments: names, wants }: Operation,
  args: readonly unknown[],
  below: Method,
): Request {
  const argument = (name: string): unknown => args[names.indexOf(name)];
  const options: Readonly<Record<string, unknown>> = Object(argument('options'));
  const { permits, priority, owner } = options;
  const keys = argument('keys');
  return {
    watched,
    operation: name,
    keys: names.includes('key')
      ? [argument('key')]
      : Array.isArray(keys)
        ? [...keys]
        : names.includes('keys')
          ? [keys]
          : undefined,
    permits: typeof permits === 'number' ? permits : 1,
    priority: typeof priority === 'number' ? priority : 0,
    all: wants === 'all',
    owner,
    context: currentContext(),
    stack: captureStack(below),
    since: performance.now(),
  };
}

/** Returns the method that shadows `original`. */
function observe(watched: Watched, name: string, operation: Operation, original: Method): Method {
  const fnIndex = operation.arguments.indexOf('fn');
  const method: Method = function (this: object, ...args) {
    const request = requestOf(watched, name, operation, args, method);
    if (operation.tries) return taken(request, original.apply(this, args), method);
    const fn = args[fnIndex] as Method | undefined;
    if (typeof fn !== 'function') return awaited(this, request, operation, original, args);
    return ran(this, request, original, args, fnIndex, fn);
  };
  return method;
}

function report(event: DiagnosticsEvent, request: Request): void {
  if (isWanted(event)) emit(event, activityOf(request) as never);
}

function beginWait(request: Request, forHolders: boolean, grants: boolean): Wait {
  const wait: Wait = {
    ...request,
    forHolders,
    grants,
    get isOver() {
      return !request.watched.waits.has(wait);
    },
  };
  request.watched.addWait(wait);
  return wait;
}

function beginHold(request: Request, permit: Granted): Hold {
  const { watched } = request;
  const hold: Hold = {
    ...request,
    since: performance.now(),
    permit,
    issuer: permit._issuer,
    flow: undefined,
    unproven: [],
    isReported: false,
    uncover: () => {},
  };
  watched.addHold(hold);
  coverPermit(permit, hold);
  if (watched.heldTooLong !== undefined) checkIn(watched.heldTooLong);
  report('acquire', hold);
  suspectAll(watched);
  return hold;
}

/** Shadows the methods of a permit that release it, lose it or downgrade it. */
function coverPermit(permit: Granted, hold: Hold): void {
  const methods = permit as unknown as Record<string, Method>;
  const undo: (() => void)[] = [];
  hold.uncover = () => {
    for (const each of undo) each();
  };
  const put = (name: string, own: (original: Method) => Method): void => {
    const original = methods[name];
    if (typeof original === 'function') undo.push(define(permit, name, own(original)));
  };
  const ending =
    (original: Method): Method =>
    (...args) => {
      if (hold.watched.endHold(hold)) report('release', hold);
      return original.apply(permit, args);
    };
  // A permit's `release` calls its `_giveBack`.
  if (typeof methods._giveBack === 'function') put('_giveBack', ending);
  else for (const name of ['release', '_lose']) put(name, ending);
  put('downgrade', (downgrade) => () => {
    const reader = downgrade.call(permit) as Granted;
    const { flow } = hold;
    hold.watched.endHold(hold);
    followHeld(beginHold({ ...hold, operation: 'downgrade', all: false }, reader), flow);
    return reader;
  });
}

const isPermit = (value: unknown): value is Granted =>
  Object(value) === value && 'released' in (value as object);

/** Records the result of a method that does not wait. */
function taken(request: Request, result: unknown, below: Method): unknown {
  if (result instanceof Promise) {
    return unseen(() =>
      result.then((permit) => {
        if (isPermit(permit)) beginHold(request, permit);
        return permit;
      }),
    );
  }
  if (isPermit(result)) followTaken(beginHold(request, result), below);
  return result;
}

/** Records a call that waits and may be granted a permit. */
function awaited(
  primitive: object,
  request: Request,
  { wants, grants }: Operation,
  original: Method,
  args: unknown[],
): Promise<unknown> {
  const result = unseen(() => original.apply(primitive, args)) as Promise<unknown>;
  const wait = beginWait(request, wants !== 'nothing', grants);
  return settling(result, wait, undefined, (value, promise) => {
    if (grants && isPermit(value)) followHold(promise, beginHold(request, value));
  });
}

/** Records a call that runs a function while it holds a permit. */
function ran(
  primitive: object,
  request: Request,
  original: Method,
  args: unknown[],
  fnIndex: number,
  fn: Method,
): unknown {
  const wait = beginWait(request, true, true);
  const flow = new Flow();
  const inner: Method = (...given) => {
    const isWatched = request.watched.endWait(wait);
    const [permit] = given;
    const call = () => fn(...given);
    if (!isWatched || !isPermit(permit)) return call();
    if (canFollow()) return runAs(flow, beginHold(request, permit), call);
    const context = contextWithin();
    beginHold({ ...request, context }, permit);
    return runIn(context, call);
  };
  const result = original.apply(
    primitive,
    args.map((each, index) => (index === fnIndex ? inner : each)),
  );
  if (result instanceof Promise) return settling(result, wait, flow);
  // `schedule` returns a handle with the promise.
  const handle = result as { readonly result: Promise<unknown> };
  define(handle, 'result', settling(handle.result, wait, flow));
  return handle;
}

/** Returns a promise that settles as `result` does, after the end of the wait was recorded. */
function settling(
  result: Promise<unknown>,
  wait: Wait,
  flow?: Flow,
  granted: (value: unknown, promise: Promise<unknown>) => void = () => {},
): Promise<unknown> {
  const { watched } = wait;
  return unseen(() => {
    const promise: Promise<unknown> = result.then(
      (value) => {
        if (watched.endWait(wait)) granted(value, promise);
        return value;
      },
      (error) => {
        watched.endWait(wait);
        throw error;
      },
    );
    followWait(promise, wait);
    if (flow !== undefined) followRun(promise, flow);
    // One microtask later, because the request may have been granted at once.
    queueMicrotask(() => {
      if (wait.isOver) return;
      report('wait', wait);
      suspect(wait);
    });
    return promise;
  });
}
