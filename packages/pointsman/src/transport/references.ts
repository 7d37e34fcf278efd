/**
 * Passes functions, abort signals and iterators by reference. A message contains a number for each.
 *
 * Invariant: a passed object stays alive exactly as long as the other side may use it. This side counts the messages
 * in which it passed the object, the other side those in which it received it. When the other side's proxy is
 * collected as garbage, that side returns its count.
 */

import { timedOut } from '../sync/errors.js';
import { isSignal } from '../sync/options.js';
import { giveUpOn } from '../sync/wait/give-up.js';
import { captureContext, type RunInContext } from './async-context.js';
import type { AnyFunction, RemoteIterable } from './types.js';

/** The lowest bits of a number are the kind of the reference. */
const FUNCTION = 0;
const SIGNAL = 1;
const ITERATOR = 2;
/** A proxy that goes back to the side that owns the original. */
const HOME = 3;
const KINDS = 4;

const ITERATOR_METHODS: ReadonlySet<unknown> = new Set(['next', 'return', 'throw']);

/** Thrown for a reference to an object that is gone, such as a finished iterator. */
export class StaleReferenceError extends Error {
  override readonly name = 'StaleReferenceError';
}

/** Whether an iterator has finished since the call was sent. Compared by name: the error is a copy. */
const isStale = (error: unknown): boolean => (error as Error)?.name === 'StaleReferenceError';

/** How references reach the other side. */
export interface ReferenceCalls {
  /** Calls a reference that the other side owns. */
  callReference(id: number, args: readonly unknown[], name: string): Promise<unknown>;
  /** Calls it and blocks; throws where this thread cannot block. */
  blockOnReference(id: number, args: readonly unknown[]): unknown;
  /** Returns `count` references to `id`: they are no longer used. */
  release(id: number, count: number): void;
  /** Reports that the signal passed as `id` was aborted. */
  abort(id: number, reason: unknown): void;
  /**
   * Whether a function passed in two messages becomes two functions on the other side, each of which runs in the
   * context of its own call.
   */
  readonly separatesFunctions?: boolean | undefined;
}

export type AnyIterator =
  | Iterator<unknown, unknown, unknown>
  | AsyncIterator<unknown, unknown, unknown>;

interface Exported {
  readonly value: object;
  readonly call: AnyFunction;
  count: number;
  /** Runs a call in the context of the latest call that passed the object. */
  run: RunInContext;
  /** Called once, when the other side no longer uses the object. */
  readonly end: () => void;
}

interface Imported {
  readonly proxy: WeakRef<object>;
  count: number;
}

export class References {
  readonly #calls: ReferenceCalls;
  readonly #exported = new Map<number, Exported>();
  readonly #ids = new Map<object, number>();
  readonly #imported = new Map<number, Imported>();
  readonly #origins = new WeakMap<object, number>();
  readonly #controllers = new Map<number, WeakRef<AbortController>>();
  #next = 1;
  readonly #collected = new FinalizationRegistry<number>((id) => this.#giveBack(id));

  constructor(calls: ReferenceCalls) {
    this.#calls = calls;
  }

  /** The number of objects of this side that the other side may still use. */
  get size(): number {
    return this.#exported.size;
  }

  // --- objects that this side passes ---

  /**
   * Returns the number of a value in a message; -1 if the value is not passed by reference. `passed` collects the
   * references that this message counts; the caller gives it to {@link sent} or {@link undo}.
   */
  numberOf(value: object, passed: Set<number>): number {
    const origin = this.#origins.get(value);
    if (origin !== undefined) return origin * KINDS + HOME;
    if (typeof value === 'function') {
      const call = () => value as AnyFunction;
      return this.#export(value, passed, call, () => {}) * KINDS + FUNCTION;
    }
    if (isSignal(value)) return this.#exportSignal(value, passed) * KINDS + SIGNAL;
    const iterate = iterationOf(value);
    if (iterate === undefined) return -1;
    return this.#exportIterator(value, passed, iterate) * KINDS + ITERATOR;
  }

  #export(
    value: object,
    passed: Set<number>,
    makeCall: (id: number) => AnyFunction,
    end: () => void,
  ): number {
    const isFunction = typeof value === 'function';
    const known = this.#ids.get(value);
    const isApart = isFunction && this.#calls.separatesFunctions && !passed.has(known ?? -1);
    const id = known === undefined || isApart ? this.#next++ : known;
    if (id !== known) {
      this.#ids.set(value, id);
      const run = captureContext();
      this.#exported.set(id, { value, call: makeCall(id), count: 0, end, run });
    }
    if (!passed.has(id)) {
      const exported = this.#exported.get(id) as Exported;
      exported.count++;
      passed.add(id);
      if (isFunction && id === known) exported.run = captureContext();
    }
    return id;
  }

  #exportSignal(signal: AbortSignal, passed: Set<number>): number {
    let stopWatching = () => {};
    const isKnown = this.#ids.has(signal);
    const isAborted = () => signal.aborted;
    const id = this.#export(
      signal,
      passed,
      () => isAborted,
      () => stopWatching(),
    );
    if (!isKnown && !signal.aborted) {
      stopWatching = giveUpOn({ signal }, (reason) => this.#calls.abort(id, reason), timedOut);
    }
    return id;
  }

  #exportIterator(value: object, passed: Set<number>, iterate: () => AnyIterator): number {
    let iterator: AnyIterator | undefined;
    let isOver = false;
    const step = async (id: number, method: 'next' | 'return' | 'throw', argument: unknown) => {
      // The other side chooses the method name: it may call only these.
      if (!ITERATOR_METHODS.has(method)) throw new TypeError('an iterator has no such method');
      iterator ??= iterate();
      const own = iterator[method] as ((argument: unknown) => unknown) | undefined;
      if (own === undefined) {
        isOver = true;
        this.#forget(id);
        if (method === 'throw') throw argument;
        return { done: true, value: argument };
      }
      try {
        const result = (await own.call(iterator, argument)) as IteratorResult<unknown>;
        if (result.done) isOver = true;
        return { done: result.done === true, value: await result.value };
      } catch (error) {
        isOver = true;
        throw error;
      } finally {
        if (isOver) this.#forget(id);
      }
    };
    const end = async () => {
      if (isOver) return;
      isOver = true;
      iterator ??= iterate();
      await iterator.return?.(undefined);
    };
    return this.#export(
      value,
      passed,
      (id) => (method, argument) => step(id, method as 'next', argument),
      // No caller is left to report an error to.
      () => void end().catch(() => {}),
    );
  }

  #forget(id: number): void {
    const exported = this.#exported.get(id);
    if (exported === undefined) return;
    this.#exported.delete(id);
    // The object may have been passed again, under another number.
    if (this.#ids.get(exported.value) === id) this.#ids.delete(exported.value);
    exported.run(exported.end);
  }

  /** Called after the message was sent: reports the signals in it that had been aborted before. */
  sent(passed: ReadonlySet<number>): void {
    for (const id of passed) {
      const value = this.#exported.get(id)?.value;
      if (value && isSignal(value) && value.aborted) this.#calls.abort(id, value.reason);
    }
  }

  /** Called when the message will not be sent or read. */
  undo(passed: ReadonlySet<number>): void {
    for (const id of passed) this.released(id, 1);
  }

  /** Called when the other side returns `count` references. */
  released(id: number, count: number): void {
    const exported = this.#exported.get(id);
    if (exported === undefined) return;
    exported.count -= count;
    if (exported.count <= 0) this.#forget(id);
  }

  /** Returns the function that runs when the other side calls a reference. */
  callable(id: number): AnyFunction | undefined {
    const exported = this.#exported.get(id);
    if (exported === undefined) return undefined;
    // Not called as a method: `this` must not be the record.
    const { call } = exported;
    return (...args) => exported.run(() => call(...args));
  }

  // --- objects that this side received ---

  /** Returns the object for a number in a message. `received` collects the references that this message counts. */
  valueOf(number: number, received: Set<number>): unknown {
    const id = Math.floor(number / KINDS);
    switch (number % KINDS) {
      case HOME:
        return this.#exported.get(id)?.value;
      case SIGNAL:
        return this.#import(id, received, () => this.#makeSignal(id));
      case ITERATOR:
        return this.#import(id, received, () => this.#makeIterator(id));
      default:
        return this.#import(
          id,
          received,
          () =>
            (...args: unknown[]) =>
              this.#calls.callReference(id, args, 'a callback'),
        );
    }
  }

  #import(id: number, received: Set<number>, make: () => object): object {
    const imported = this.#imported.get(id);
    const known = imported?.proxy.deref();
    const isCounted = received.has(id);
    if (!isCounted) received.add(id);
    if (imported && known) {
      if (!isCounted) imported.count++;
      return known;
    }
    const made = make();
    // A proxy that was collected has not returned its count yet.
    this.#imported.set(id, { proxy: new WeakRef(made), count: 1 + (imported?.count ?? 0) });
    this.#origins.set(made, id);
    this.#collected.register(made, id);
    return made;
  }

  #giveBack(id: number): void {
    const imported = this.#imported.get(id);
    if (imported === undefined || imported.proxy.deref() !== undefined) return;
    this.#imported.delete(id);
    this.#controllers.delete(id);
    this.#calls.release(id, imported.count);
  }

  #makeSignal(id: number): AbortSignal {
    const controller = new AbortController();
    this.#controllers.set(id, new WeakRef(controller));
    // The signal keeps its controller alive, so it can be aborted as long as it is used.
    controllerOf.set(controller.signal, controller);
    return controller.signal;
  }

  /** Makes an async iterator that is also a synchronous one, where the thread can block. */
  #makeIterator(id: number): object {
    let isOver = false;
    const done = (value: unknown) => ({ done: true, value });
    const noted = (result: unknown) => {
      if ((result as IteratorResult<unknown>).done) isOver = true;
      return result;
    };
    const later = (method: string) => async (argument?: unknown) => {
      if (isOver) {
        if (method === 'throw') throw argument;
        return done(method === 'return' ? argument : undefined);
      }
      if (method !== 'next') isOver = true;
      try {
        return noted(await this.#calls.callReference(id, [method, argument], 'an iterator'));
      } catch (error) {
        if (!isStale(error) || method === 'throw') throw error;
        isOver = true;
        return done(method === 'return' ? argument : undefined);
      }
    };
    const now = (method: string) => (argument?: unknown) => {
      if (isOver) return done(argument);
      if (method !== 'next') isOver = true;
      try {
        return noted(this.#calls.blockOnReference(id, [method, argument]));
      } catch (error) {
        if (!isStale(error)) throw error;
        isOver = true;
        return done(argument);
      }
    };
    const iterator = {
      next: later('next'),
      return: later('return'),
      throw: later('throw'),
      [Symbol.asyncIterator]() {
        return this;
      },
      [Symbol.iterator]: () => ({ next: now('next'), return: now('return') }),
    };
    remoteIterables.add(iterator);
    return iterator;
  }

  /** Called when the other side aborted a signal that it had passed. */
  abort(id: number, reason: unknown): void {
    this.#controllers.get(id)?.deref()?.abort(reason);
  }

  /** Removes the listeners of passed signals and ends passed iterators. */
  close(): void {
    for (const id of [...this.#exported.keys()]) this.#forget(id);
    this.#imported.clear();
    this.#controllers.clear();
  }
}

const controllerOf = new WeakMap<AbortSignal, AbortController>();
const remoteIterables = new WeakSet<object>();

/** Returns whether the value is a proxy of an iterator in another thread. */
export function isRemoteIterable(value: object): value is RemoteIterable<unknown> {
  return remoteIterables.has(value);
}

/** Returns a function that starts iterating, for iterators and async iterables; undefined for values that are copied. */
export function iterationOf(value: object): (() => AnyIterator) | undefined {
  const source = value as Partial<AsyncIterable<unknown> & Iterable<unknown> & AnyIterator>;
  if (typeof source[Symbol.asyncIterator] === 'function') {
    return () => (source as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  }
  if (typeof source[Symbol.iterator] === 'function' && typeof source.next === 'function') {
    return () => (source as Iterable<unknown>)[Symbol.iterator]();
  }
  return undefined;
}
