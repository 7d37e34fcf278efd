/** The functions that the threads of the tests run. */
import { task, transfer } from 'pointsman/pool';
import { isPattern, pattern } from '../bridge/pattern.js';
import { Board, Gate } from './board.js';

let board = new Board();

/** Sets the board of the test; called by the script of the thread. */
export function useBoard(words: Int32Array<SharedArrayBuffer>): void {
  board = new Board(words);
}

const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 1));
const gateOf = (number: number) => new Gate(board, number);

/** State that one task leaves for the next in its thread. */
const kept: unknown[] = [];

// --- values ---

export const echo = <T>(value: T): T => value;
export const ignore = (_value: unknown): void => {};
export const all = (...values: unknown[]): unknown[] => values;

export async function later<T>(value: T): Promise<T> {
  await turn();
  return value;
}

export default function byDefault(): string {
  return 'the default';
}

export const text = {
  upper: (of: string): string => of.toUpperCase(),
  deeper: { lower: (of: string): string => of.toLowerCase() },
};

/** A module in a module. */
export * as patterns from '../bridge/pattern.js';

class Counter {
  #count = 0;
  add(by: number): number {
    this.#count += by;
    return this.#count;
  }
  static create(): string {
    // biome-ignore lint/complexity/noThisInStatic: it has to be the class.
    return this.name;
  }
}
class Doubling extends Counter {
  override add(by: number): number {
    return super.add(2 * by);
  }
}

export { Doubling };
export const counter = new Doubling();

export const square: { (n: number): number; root(n: number): number } = Object.assign(
  (n: number) => n * n,
  { root: (n: number) => Math.sqrt(n) },
);

/** Not a function, so it cannot be run. */
export const constant = 5;

/** Modifies its argument, which is a copy. */
export function takeSmallest(given: { sizes: number[] }): number | undefined {
  given.sizes.sort();
  return given.sizes.shift();
}

const config = { hits: 0, nested: { list: [1] } };

/** Returns the same object each time, in its current state. */
export function shared(): typeof config {
  config.hits++;
  return config;
}

const bytes = new Uint8Array(16);

export function sharedBytes(value: number): Uint8Array {
  return bytes.fill(value);
}

export function makeNested(levels: number): unknown {
  let value: unknown = 'the end';
  for (let level = 0; level < levels; level++) value = { value };
  return value;
}

/** Fills the buffer and returns its contents. */
export function fill(buffer: ArrayBuffer, value: number): string {
  return new Uint8Array(buffer).fill(value).join('');
}

export const make = (size: number): Uint8Array => pattern(size);
export const isWhole = (bytes: Uint8Array, size: number): boolean => isPattern(bytes, size);

export const size = (buffer: ArrayBuffer): number => buffer.byteLength;

export function makeMoved(size: number): ReturnType<typeof transfer<ArrayBuffer>> {
  const { buffer } = pattern(size);
  kept[0] = buffer;
  return transfer(buffer as ArrayBuffer, [buffer as ArrayBuffer]);
}

/** The length of the buffer that the previous task transferred. */
export const leftOver = (): number => (kept[0] as ArrayBuffer).byteLength;

export async function callBack(call: () => unknown): Promise<void> {
  await call();
}

export async function firstOf<T>(items: AsyncIterable<T>): Promise<T | undefined> {
  for await (const item of items) return item;
  return undefined;
}

// --- effects ---

export function count(word: number): void {
  board.add(word);
}

export function write(value: number): number {
  board.write(value);
  return value;
}

/** Takes long enough that the test gets the value before the next task begins. */
export function writeSlowly(value: number): number {
  const end = performance.now() + 0.5;
  while (performance.now() < end);
  return write(value);
}

/** Waits at a gate without returning to the event loop. */
export function hold<T>(gate: number, result?: T): T {
  gateOf(gate).enter();
  gateOf(gate).wait();
  gateOf(gate).leave();
  return result as T;
}

/** Waits at a gate, polling once per turn of the event loop. */
export async function holdLoosely<T>(gate: number, result?: T): Promise<T> {
  gateOf(gate).enter();
  while (!gateOf(gate).isOpen) await turn();
  gateOf(gate).leave();
  return result as T;
}

/** A function that does the same when called. */
export const holder = (gate: number) => () => holdLoosely(gate, 'held');

export function spin(milliseconds: number, begun: number, ended: number): number {
  board.add(begun);
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
  board.add(ended);
  return milliseconds;
}

export async function spinLater(milliseconds: number, begun: number, ended: number): Promise<void> {
  board.add(begun);
  await turn();
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
  board.add(ended);
}

// --- the task itself ---

export function progress(values: number): string {
  for (let value = 0; value < values; value++) task.progress(value);
  return 'done';
}

/** Sends a message, and waits at a gate without returning to the event loop. */
export function sayAndHold(gate: number): void {
  task.progress('begun');
  hold(gate);
}

export function progressOfSymbol(): string {
  try {
    task.progress(Symbol('s'));
  } catch (error) {
    task.progress((error as Error).name);
  }
  return 'done';
}

export async function progressLater(values: number): Promise<string> {
  for (let value = 0; value < values; value++) {
    await turn();
    task.progress({ value });
  }
  return 'done';
}

export function about(): { name: string; aborted: boolean; left: number | undefined } {
  const { name, signal, deadline } = task;
  return {
    name,
    aborted: signal.aborted,
    left: deadline === undefined ? undefined : deadline - performance.now(),
  };
}

const members = {
  signal: () => task.signal,
  deadline: () => task.deadline,
  name: () => task.name,
  progress: () => task.progress(1),
};
let outside: string[] = [];

/** Reads `task` while no task runs. */
export function lookLater(): void {
  outside = [];
  // In a later turn.
  setTimeout(() => {
    for (const look of Object.values(members)) {
      try {
        outside.push(String(look()));
      } catch (error) {
        outside.push(String(error));
      }
    }
  });
}

export const seenOutside = (): string[] => outside;

/** Polls for an abort, without returning to the event loop. */
export function loopUntilAborted(gate: number): string {
  gateOf(gate).enter();
  while (!task.signal.aborted);
  gateOf(gate).leave();
  return 'stopped';
}

export function loopUntilThrown(gate: number): void {
  gateOf(gate).enter();
  try {
    for (;;) task.signal.throwIfAborted();
  } finally {
    gateOf(gate).leave();
  }
}

/** Waits at a gate, turn by turn, until it is aborted. */
export async function holdUnlessAborted(gate: number): Promise<void> {
  const { signal } = task;
  gateOf(gate).enter();
  while (!gateOf(gate).isOpen && !signal.aborted) await turn();
  gateOf(gate).leave();
}

let reason: unknown;

/** Waits until it is aborted. */
export function waitForAbort(gate: number): Promise<string> {
  const { signal } = task;
  gateOf(gate).enter();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      reason = signal.reason;
      gateOf(gate).leave();
      resolve('stopped');
    });
  });
}

/** Polls for the reason, without returning to the event loop. */
export function loopUntilReason(gate: number): void {
  const { signal } = task;
  gateOf(gate).enter();
  while (signal.reason === undefined);
  reason = signal.reason;
  gateOf(gate).leave();
}

let seen: boolean[] = [];

function listen(gate: number): AbortSignal {
  const { signal } = task;
  seen = [];
  signal.addEventListener('abort', () => {
    seen.push(signal.aborted);
    gateOf(gate).leave();
  });
  gateOf(gate).enter();
  return signal;
}

/** Adds a listener, and polls once per turn of the event loop. */
export async function listenAndAwait(gate: number): Promise<void> {
  const signal = listen(gate);
  while (!signal.aborted) await turn();
  signal.throwIfAborted();
}

/** Adds a listener, and polls without returning to the event loop. */
export function listenAndLoop(gate: number): void {
  const signal = listen(gate);
  for (;;) signal.throwIfAborted();
}

/** For each call of a listener, whether the signal was aborted. */
export const heard = (): boolean[] => seen;

/** Returns its result, and then blocks its event loop until the gate is open. */
export function returnAndHold(gate: number): void {
  setTimeout(() => hold(gate));
}

export const reasonHeard = (): unknown => reason;

// --- iterators ---

/** Counts its values in a word, and sets the next word when it has ended. */
export function* numbers(to: number, word: number): Generator<number> {
  try {
    for (let n = 0; n < to; n++) {
      board.add(word);
      yield n;
    }
  } finally {
    board.add(word + 1);
  }
}

export async function* numbersLater(to: number, word: number): AsyncGenerator<number> {
  try {
    for (let n = 0; n < to; n++) {
      board.add(word);
      await turn();
      yield n;
    }
  } finally {
    board.add(word + 1);
  }
}

/** Returns its iterator only when the gate is open. */
export async function numbersBehind(gate: number, word: number): Promise<Generator<number>> {
  await holdLoosely(gate);
  return numbers(10, word);
}

export function* uncloneableAfter(count: number): Generator<unknown> {
  for (let n = 0; n < count; n++) yield n;
  for (;;) yield new WeakMap();
}

export function* failAfter(count: number): Generator<number> {
  for (let n = 0; n < count; n++) yield n;
  throw Object.assign(new RangeError('no more'), { after: count });
}

export async function* exitAfter(count: number): AsyncGenerator<number> {
  for (let n = 0; n < count; n++) yield n;
  exit(4);
  await new Promise(() => {});
}

/** Causes an unhandled rejection while it waits for its reader. */
export async function* rejectAfter(count: number): AsyncGenerator<number> {
  for (let n = 0; n < count; n++) yield n;
  void Promise.reject(new Error('not handled'));
  await new Promise(() => {});
}

/** Like {@link numbers}, but reports its begin at the gate, and then does not return to the event loop. */
export function* numbersThenHold(to: number, gate: number): Generator<number> {
  for (let n = 0; n < to; n++) yield n;
  hold(gate);
}

// --- errors ---

class OwnError extends Error {
  override readonly name = 'OwnError';
}

export const throws = {
  error(): never {
    throw Object.assign(new RangeError('out of range', { cause: new Error('the cause') }), {
      code: 'E_RANGE',
      details: { at: [1, 2] },
    });
  },
  own(): never {
    throw new OwnError('of a class of its own');
  },
  async later(): Promise<never> {
    await turn();
    throw new TypeError('later');
  },
  /** Throws an error with properties that cannot be cloned, like errors of HTTP clients. */
  withSocket(): never {
    const cause = Object.assign(new Error('no connection'), { socket: new WeakMap() });
    const error = new TypeError('request failed', { cause });
    Object.defineProperty(error, 'lazy', {
      enumerable: true,
      get() {
        throw new Error('not now');
      },
    });
    const request = { socket: new WeakMap() };
    throw Object.assign(error, { code: 'E_REQUEST', status: 404, request, tag: Symbol('tag') });
  },
  text(): never {
    throw 'a text';
  },
  nothing(): never {
    throw undefined;
  },
};

export const uncloneable = (): unknown => ({ inside: Symbol('cannot be cloned') });
export const uncloneableLater = async (): Promise<unknown> => Symbol('cannot be cloned');

// --- faults ---

interface Scope {
  process?: { exit(code: number): never };
  close?(): void;
}

/** Ends the thread; in a browser, without a code. */
export function exit(code: number): void {
  const scope = globalThis as unknown as Scope;
  if (scope.process) scope.process.exit(code);
  scope.close?.();
  // The thread continues until it returns to its event loop.
}

export function countAndExit(word: number): Promise<never> | undefined {
  board.add(word);
  exit(3);
  return undefined;
}

export function countAndThrow(word: number): never {
  board.add(word);
  throw new Error('thrown');
}

/** Reports its begin at the gate, and ends the thread when the gate is open. */
export function holdAndExit(gate: number, code: number): Promise<never> {
  hold(gate);
  exit(code);
  return new Promise(() => {});
}

/** Never returns. In Deno `terminate` does not stop a busy thread, so there the loop ends after a long time. */
export function loop(gate: number): void {
  gateOf(gate).enter();
  const end = 'Deno' in globalThis ? performance.now() + 5_000 : Infinity;
  while (performance.now() < end);
}

export function outOfMemory(): never {
  const full: unknown[] = [];
  for (;;) full.push(new Array(1e5).fill(Math.random()));
}

/** Causes an unhandled rejection while the task runs. */
export function rejectMeanwhile(): Promise<never> {
  void Promise.reject(new Error('not handled'));
  return new Promise(() => {});
}

/** Causes an unhandled rejection when the task is over and the gate is open. */
export function rejectAfterwards(gate: number): string {
  void holdLoosely(gate).then(() => Promise.reject(new Error('not handled')));
  return 'over';
}

export function throwAfterwards(gate: number): string {
  void holdLoosely(gate).then(() => {
    setTimeout(() => {
      throw new Error('not caught');
    });
  });
  return 'over';
}

// --- the thread ---

const identity = Math.random();

/** The identity of the thread. */
export const who = (): number => identity;
