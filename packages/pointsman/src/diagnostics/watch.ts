/**
 * Watching: the methods of one object are covered by methods of its own, which call those of its class and keep a record.
 *
 * Invariant: what is not watched has no part in this, and what is no longer watched is as it was. A method that is watched
 * grants the same permits in the same order; its promise settles one microtask later.
 */

import { dispose } from '../sync/dispose.js';
import { invalid } from '../sync/errors.js';
import { contextWithin, currentContext, runIn } from './context.js';
import { suspect, suspectAll } from './deadlock.js';
import { type DiagnosticsEvent, emit, isWanted } from './events.js';
import { lookIn } from './held-too-long.js';
import { kindOf, type Operation } from './kinds.js';
import {
  canFollow,
  followHeld,
  followHold,
  followRun,
  followTaken,
  followWait,
  runAs,
  unseen,
} from './lines.js';
import { type Granted, type Hold, Line, type Request, type Wait, Watched } from './record.js';
import { activityOf } from './snapshot.js';
import { captureStack } from './stack.js';

/** What {@link watch} may be told. */
export interface WatchOptions {
  /** What reports call it. Default: the name that the primitive was given, if it shows it, or its kind and a number. */
  readonly name?: string | undefined;
  /** A hold that lasts for longer than so many milliseconds is told of, once. Default: that of {@link configure}. */
  readonly heldTooLong?: number | undefined;
}

/** What {@link watch} returns. */
export interface Watching {
  readonly name: string;
  /** Ends it: the primitive is as it was before. The same as {@link unwatch}. */
  unwatch(): void;
  [Symbol.dispose](): void;
}

// biome-ignore lint/suspicious/noExplicitAny: of any primitive
type Method = (...args: any[]) => unknown;

/** What is known of a primitive that is watched, and how to undo it. */
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
 * What holds for all that is watched from now on and says nothing else.
 *
 * @throws {RangeError | TypeError} for a `heldTooLong` that is no positive number.
 */
export function configure(options: { readonly heldTooLong?: number | undefined }): void {
  checkMilliseconds('heldTooLong', options.heldTooLong);
  heldTooLongForAll = options.heldTooLong;
}

/**
 * Watches one primitive until {@link unwatch}: who holds it, who waits for it, since when, and where that was called. It may
 * be in use already: what was granted before is not seen.
 *
 * It costs a stack for each call, and one microtask more until a grant is seen. While something that is watched is
 * held or waited for, Node is also asked about each promise that is made, which is what finds deadlocks. What is not watched
 * costs nothing. Watching keeps nothing alive.
 *
 * @param primitive A `Semaphore`, `Mutex`, `RwLock`, `Limiter`, `Channel`, `Notify`, `Condition`, `Barrier` or `Latch`, one
 * of their keyed forms, or a `RedisMutex`.
 * @throws {TypeError} for anything else, and {RangeError | TypeError} for options that cannot be used.
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
 * The same as {@link watch}, and returns the primitive: `const mutex = watched(new Mutex(), { name: 'ledger' })`.
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

/** Watches it no longer, and forgets what is held and waited for. Does nothing if it is not watched. */
export function unwatch(primitive: object): void {
  const entry = entries.get(primitive);
  if (entry === undefined) return;
  entries.delete(primitive);
  entry.uncover();
  entry.watched.end();
}

/** Puts watched methods on the object. Returns what takes them away again. */
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

/** Defines a hidden property. Returns what makes the object as it was. */
function define(object: object, name: string, value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(object, name);
  Object.defineProperty(object, name, { value, configurable: true, writable: true });
  return () => {
    if (before === undefined) Reflect.deleteProperty(object, name);
    else Object.defineProperty(object, name, before);
  };
}

/** What a call asks for. Nothing is checked here: the method itself will, and what it refuses is forgotten. */
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

/** The method that is put before another. */
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

function tell(event: DiagnosticsEvent, request: Request): void {
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
    line: undefined,
    unproven: [],
    isReported: false,
    uncover: () => {},
  };
  watched.addHold(hold);
  coverPermit(permit, hold);
  if (watched.heldTooLong !== undefined) lookIn(watched.heldTooLong);
  tell('acquire', hold);
  suspectAll(watched);
  return hold;
}

/** Puts methods on a permit that see it go back, whoever calls them and however; and a guard be lost. */
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
      if (hold.watched.endHold(hold)) tell('release', hold);
      return original.apply(permit, args);
    };
  // A permit's `release` is made of its `_giveBack`.
  if (typeof methods._giveBack === 'function') put('_giveBack', ending);
  else for (const name of ['release', '_lose']) put(name, ending);
  put('downgrade', (downgrade) => () => {
    const reader = downgrade.call(permit) as Granted;
    const { line } = hold;
    hold.watched.endHold(hold);
    followHeld(beginHold({ ...hold, operation: 'downgrade', all: false }, reader), line);
    return reader;
  });
}

const isPermit = (value: unknown): value is Granted =>
  Object(value) === value && 'released' in (value as object);

/** A method that tries: it has answered already, or will without waiting. */
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

/** A method that waits, and may be granted something. */
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

/** A method that runs a function while it holds what it was granted. */
function ran(
  primitive: object,
  request: Request,
  original: Method,
  args: unknown[],
  fnIndex: number,
  fn: Method,
): unknown {
  const wait = beginWait(request, true, true);
  const line = new Line();
  const inner: Method = (...given) => {
    const isWatched = request.watched.endWait(wait);
    const [permit] = given;
    const call = () => fn(...given);
    if (!isWatched || !isPermit(permit)) return call();
    if (canFollow()) return runAs(line, beginHold(request, permit), call);
    const context = contextWithin();
    beginHold({ ...request, context }, permit);
    return runIn(context, call);
  };
  const result = original.apply(
    primitive,
    args.map((each, index) => (index === fnIndex ? inner : each)),
  );
  if (result instanceof Promise) return settling(result, wait, line);
  // A handle, whose result is the promise.
  const handle = result as { readonly result: Promise<unknown> };
  define(handle, 'result', settling(handle.result, wait, line));
  return handle;
}

/** The same promise, for a call that has been told of when it settles. */
function settling(
  result: Promise<unknown>,
  wait: Wait,
  line?: Line,
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
    if (line !== undefined) followRun(promise, line);
    // It may have been granted at once: that is known a microtask later.
    queueMicrotask(() => {
      if (wait.isOver) return;
      tell('wait', wait);
      suspect(wait);
    });
    return promise;
  });
}
