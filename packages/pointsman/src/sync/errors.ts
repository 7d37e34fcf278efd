/**
 * The errors of the primitives. Each says what happened and what was expected.
 */

/**
 * A `timeout` ran out before the operation was granted. The waiter has left the queue and holds
 * nothing.
 *
 * `AbortSignal.timeout()` rejects with the platform's own exception of the same name, so
 * `error.name === 'TimeoutError'` recognises both.
 */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** What a wait that was given up after this many milliseconds rejects with. The label begins the message. */
export const timedOut = (timeout: number, label = ''): TimeoutError =>
  new TimeoutError(`${label}timed out after ${timeout} ms`);

/** The error of a `drain` or a `shutdown` that timed out: it says how much is left. */
export const notIdle = (
  timeout: number,
  label: string,
  active: number,
  waiting: number,
): TimeoutError =>
  new TimeoutError(`${timedOut(timeout, label).message}: ${active} active, ${waiting} waiting`);

/**
 * What was asked was closed, before or while the operation waited, and no other reason was given. The
 * base of the errors that pools and bridges reject with when they are closed.
 */
export class ClosedError extends Error {
  override readonly name: string = 'ClosedError';
}

/** @internal */
export const closedError = (label: string): Error =>
  new ClosedError(`${label}the primitive is closed`);

/** @internal */
export const cancelledError = (label: string): Error =>
  new DOMException(`${label}the wait was cancelled`, 'AbortError');

/** As many wait as may, and this one was refused or had to make room. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
}

/** @internal */
export const fullError = (label: string, most: number): Error =>
  new QueueFullError(`${label}the queue is full: ${most} may wait`);

/**
 * A receiver of a `Broadcast` was slower than the senders, and what it had not received was given up for what came
 * later. It has lost its place once: it goes on with the oldest value that is kept.
 */
export class LaggedError extends Error {
  override readonly name = 'LaggedError';
  /** How many values it has missed. */
  readonly missed: number;

  constructor(message: string, missed: number) {
    super(message);
    this.missed = missed;
  }
}

/**
 * An owner asked for a lock that it holds already. Waiting would never end, so the request is refused
 * at once.
 */
export class ReentrancyError extends Error {
  override readonly name = 'ReentrancyError';
  /** The owner that holds the lock. */
  readonly owner: unknown;

  constructor(message: string, owner: unknown) {
    super(message);
    this.owner = owner;
  }
}

/**
 * The error for an argument that cannot be used: a `RangeError` where `type` is what was expected and
 * only the value is wrong, otherwise a `TypeError`.
 */
export function invalid(name: string, value: unknown, expected: string, type?: 'number'): Error {
  return new (typeof value === type ? RangeError : TypeError)(
    `${name} must be ${expected}, got ${describe(value)}`,
  );
}

/** What kind of object the platform says that it is. */
export const tagOf = (value: unknown): string =>
  Object.prototype.toString.call(value).slice('[object '.length, -1);

/** A value as an error message shows it. Never throws, whatever the value is. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (Object(value) !== value) return String(value);
  if (typeof value === 'function') return 'function';
  try {
    const tag = tagOf(value);
    return tag === 'Object' ? 'object' : tag;
  } catch {
    return 'object';
  }
}

/** Throws unless it can be called. */
export function checkFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw invalid(name, value, 'a function');
}

/** Throws unless the value is one of these. */
export function checkOneOf(name: string, value: unknown, choices: readonly string[]): void {
  if (!choices.includes(value as string))
    throw invalid(name, value, `one of ${choices.join(', ')}`);
}

const isIntegerIn = (value: unknown, min: number, max: number): boolean =>
  Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;

/** Throws unless the value is an integer in the range, and exact. */
export function checkInteger(name: string, value: unknown, min: number, max = Infinity): void {
  if (isIntegerIn(value, min, max)) return;
  const range = max < Infinity ? `to ${max}` : 'on';
  throw invalid(name, value, `an integer from ${min} ${range}`, 'number');
}

/** Throws unless the value is a whole number from `min` on, or infinite. */
export function checkCount(name: string, value: unknown, min: number): void {
  if (value === Infinity || isIntegerIn(value, min, Infinity)) return;
  throw invalid(name, value, `an integer from ${min} on or Infinity`, 'number');
}

/** Throws if options are passed where the first parameter of a constructor is a number: `new Semaphore({ limit: 2 })`. */
export function checkNotOptions(form: string, name: string, value: object | null): void {
  const number = (value as Record<string, unknown> | null)?.[name];
  if (typeof number !== 'number') return;
  const hint = `Did you mean new ${form}(${number})?`;
  throw new TypeError(`${name} must be a number, got ${describe(value)}. ${hint}`);
}

/** What a method is refused with that was called without its object. */
export const detached = (method: string): TypeError =>
  new TypeError(`${method} must be called on its object`);

/** The error of a failed method: that it was called without its object, otherwise `error`. */
export const causeOf = (
  error: unknown,
  self: unknown,
  form: abstract new (...args: never) => unknown,
  method: string,
): unknown => (self instanceof form ? error : detached(method));
