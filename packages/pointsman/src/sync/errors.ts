/** The errors of the primitives, and the checks of arguments. */

/**
 * Thrown when a `timeout` elapses. The waiter has left the queue and holds nothing. `AbortSignal.timeout()` has its own
 * exception of the same name, so `error.name === 'TimeoutError'` recognizes both.
 */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** The label is the prefix of the message. */
export const timedOut = (timeout: number, label = '', details = ''): TimeoutError =>
  new TimeoutError(`${label}timed out after ${timeout} ms${details}`);

/** The error of a `drain` or a `shutdown` that timed out. */
export const notIdle = (
  timeout: number,
  label: string,
  active: number,
  waiting: number,
): TimeoutError => timedOut(timeout, label, `: ${active} active, ${waiting} waiting`);

/** Thrown when the primitive was closed without a reason. The base class of the errors of closed pools and bridges. */
export class ClosedError extends Error {
  override readonly name: string = 'ClosedError';
}

/** @internal */
export const closedError = (label: string): Error =>
  new ClosedError(`${label}the primitive is closed`);

/** @internal */
export const cancelledError = (label: string): Error =>
  new DOMException(`${label}the wait was cancelled`, 'AbortError');

/** Thrown when the queue is full: the request was refused, or dropped for a newer one. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
}

/** @internal */
export const fullError = (label: string, max: number): Error =>
  new QueueFullError(`${label}the queue is full: ${max} waiting`);

/** Thrown when a slow receiver of a `Broadcast` has missed values. It continues with the oldest value that is kept. */
export class LaggedError extends Error {
  override readonly name = 'LaggedError';
  /** The number of values that were missed. */
  readonly missed: number;

  constructor(message: string, missed: number) {
    super(message);
    this.missed = missed;
  }
}

/** Thrown when an owner requests a lock that it holds: the wait would never end. */
export class ReentrancyError extends Error {
  override readonly name = 'ReentrancyError';
  /** The owner that holds the lock. */
  readonly owner: unknown;

  constructor(message: string, owner: unknown) {
    super(message);
    this.owner = owner;
  }
}

/** The error for an invalid argument: a `RangeError` if the value is of `type`, otherwise a `TypeError`. */
export function invalid(name: string, value: unknown, expected: string, type?: 'number'): Error {
  return new (typeof value === type ? RangeError : TypeError)(
    `${name} must be ${expected}, got ${describe(value)}`,
  );
}

/** The tag of an object, such as `Map`. */
export const tagOf = (value: unknown): string =>
  Object.prototype.toString.call(value).slice('[object '.length, -1);

/** Formats a value for an error message. Never throws. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return 'function';
  if (Object(value) !== value) return String(value) + (typeof value === 'bigint' ? 'n' : '');
  try {
    return tagOf(value).replace(/^Object$/, 'object');
  } catch {
    return 'object';
  }
}

export function checkFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw invalid(name, value, 'a function');
}

export function checkOneOf(name: string, value: unknown, choices: readonly string[]): void {
  if (!choices.includes(value as string))
    throw invalid(name, value, `one of ${choices.join(', ')}`);
}

export function checkInteger(
  name: string,
  value: unknown,
  min: number,
  max = Infinity,
  or = '',
): void {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return;
  const range = max < Infinity ? `from ${min} to ${max}` : `>= ${min}`;
  throw invalid(name, value, `an integer ${range}${or}`, 'number');
}

/** Throws unless the value is a safe integer >= `min`, or `Infinity`. */
export function checkCount(name: string, value: unknown, min: number): void {
  if (value !== Infinity) checkInteger(name, value, min, Infinity, ' or Infinity');
}

/** Throws if options are passed in place of a number: `new Semaphore({ limit: 2 })`. */
export function checkNotOptions(form: string, name: string, value: unknown): void {
  if (typeof value !== 'object') return;
  const number = (value as Record<string, unknown> | null)?.[name];
  if (typeof number !== 'number') return;
  const { message } = invalid(name, value, 'a number');
  throw new TypeError(`${message}. Did you mean new ${form}(${number})?`);
}

export const detached = (method: string): TypeError =>
  new TypeError(`${method} must be called on its object`);

/** Returns `error`, or if the method was called without its object, the error for that. */
export const causeOf = (
  error: unknown,
  self: unknown,
  form: abstract new (...args: never) => unknown,
  method: string,
): unknown => (self instanceof form ? error : detached(method));
