/**
 * What has no bytes of its own: functions, abort signals, iterators, and values that move. A number
 * stands for each in a frame.
 *
 * Invariant: what was passed on stays alive here exactly as long as the other side may still use it.
 * This side counts in how many messages it has passed something on, the other in how many it has
 * received it; when the other's stand-in is collected as garbage it gives that count back.
 */

import { isTransferred, type Transferred, transfer } from '../transport/transfer.js';
import type { RemoteIterable } from '../transport/types.js';

const FUNCTION = 0;
const SIGNAL = 1;
const ITERATOR = 2;
const MOVED = 3;
/** It came from the other side. */
const YOURS = 4;
const KINDS = 8;

/** What references ask of the bridge. */
export interface Calls {
  /** Calls what a reference of the other side stands for. */
  callReference(id: number, args: readonly unknown[], name: string): Promise<unknown>;
  /** The same, blocking. */
  blockOnReference(id: number, args: readonly unknown[]): unknown;
  release(id: number, count: number): void;
  abort(id: number, reason: unknown): void;
}

type AnyFunction = (...args: unknown[]) => unknown;
export type AnyIterator =
  | Iterator<unknown, unknown, unknown>
  | AsyncIterator<unknown, unknown, unknown>;

interface Exported {
  readonly value: object;
  readonly call: AnyFunction;
  count: number;
  /** Frees what the value holds here once nobody uses it. */
  readonly end: () => void;
}

interface Imported {
  readonly stands: WeakRef<object>;
  count: number;
}

export class References {
  /** Whether the other side will read messages before it has read what is being written. */
  reachable = true;
  /** Whether what was last written cannot be written again: an iterator is in it, or something that moves. */
  isUnique = false;
  readonly #calls: Calls;
  readonly #exported = new Map<number, Exported>();
  readonly #ids = new Map<object, number>();
  readonly #imported = new Map<number, Imported>();
  readonly #origins = new WeakMap<object, number>();
  readonly #controllers = new Map<number, WeakRef<AbortController>>();
  readonly #arrived = new Map<number, unknown>();
  #next = 1;
  #nextMoved = 1;
  #nextArrived = 1;
  /** What the message that is being written has counted, in case it is never sent. */
  #counted: number[] = [];
  /** What the message that is being read has counted, or used up. */
  #received: number[] = [];
  #moving: Transferred<unknown>[] = [];
  #aborted: number[] = [];
  readonly #collected = new FinalizationRegistry<number>((id) => this.#give(id));

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** How many values of this side the other may still use. */
  get size(): number {
    return this.#exported.size;
  }

  // --- what this side passes on ---

  numberOf(value: object): number {
    const origin = this.#origins.get(value);
    if (origin !== undefined) return origin * KINDS + YOURS;
    if (typeof value === 'function') {
      return (
        this.#export(
          value,
          () => value as AnyFunction,
          () => {},
        ) *
          KINDS +
        FUNCTION
      );
    }
    if (value instanceof AbortSignal) return this.#exportSignal(value) * KINDS + SIGNAL;
    if (isTransferred(value)) {
      if (value.list.length > 0 && !value.isCopy) this.isUnique = true;
      let index = this.#moving.indexOf(value);
      if (index < 0) index = this.#moving.push(value) - 1;
      return this.#numberOfMoved(index);
    }
    const iterate = iterationOf(value);
    if (iterate === undefined) return -1;
    this.isUnique = true;
    return this.#exportIterator(value, iterate) * KINDS + ITERATOR;
  }

  numberByMessage(value: object): number {
    if (!this.reachable) return -1;
    let index = this.#moving.findIndex((moved) => moved.value === value);
    if (index < 0) index = this.#moving.push(transfer(value, [])) - 1;
    return this.#numberOfMoved(index);
  }

  #numberOfMoved(index: number): number {
    return (this.#nextMoved + index) * KINDS + MOVED;
  }

  #export(value: object, makeCall: (id: number) => AnyFunction, end: () => void): number {
    let id = this.#ids.get(value);
    if (id === undefined) {
      id = this.#next++;
      this.#ids.set(value, id);
      this.#exported.set(id, { value, call: makeCall(id), count: 0, end });
    }
    if (!this.#counted.includes(id)) {
      (this.#exported.get(id) as Exported).count++;
      this.#counted.push(id);
    }
    return id;
  }

  #exportSignal(signal: AbortSignal): number {
    const abort = () => {
      const id = this.#ids.get(signal);
      if (id !== undefined) this.#calls.abort(id, signal.reason);
    };
    const known = this.#ids.has(signal);
    const id = this.#export(
      signal,
      () => () => signal.aborted,
      () => signal.removeEventListener('abort', abort),
    );
    if (signal.aborted) this.#aborted.push(id);
    else if (!known) signal.addEventListener('abort', abort, { once: true });
    return id;
  }

  #exportIterator(value: object, iterate: () => AnyIterator): number {
    let iterator: AnyIterator | undefined;
    let over = false;
    return this.#export(
      value,
      (id) => async (method, argument) => {
        iterator ??= iterate();
        const step = iterator[method as 'next'] as ((argument: unknown) => unknown) | undefined;
        if (step === undefined) {
          over = true;
          this.#forget(id);
          if (method === 'throw') throw argument;
          return { done: true, value: argument };
        }
        try {
          const result = (await step.call(iterator, argument)) as IteratorResult<unknown>;
          if (result.done) over = true;
          return { done: result.done === true, value: await result.value };
        } catch (error) {
          over = true;
          throw error;
        } finally {
          if (over) this.#forget(id);
        }
      },
      () => {
        if (over) return;
        over = true;
        const finish = async () => {
          iterator ??= iterate();
          await iterator.return?.(undefined);
        };
        // Nobody is left to hear of an error.
        finish().catch(() => {});
      },
    );
  }

  #forget(id: number): void {
    const exported = this.#exported.get(id);
    if (exported === undefined) return;
    this.#exported.delete(id);
    this.#ids.delete(exported.value);
    exported.end();
  }

  /** What the message moves, to be posted before it is published. */
  get moving(): readonly Transferred<unknown>[] {
    return this.#moving;
  }

  /** The message has been published. */
  sent(): void {
    if (this.#moving.length > 0) {
      this.#nextMoved += this.#moving.length;
      this.#moving = [];
    }
    if (this.#counted.length > 0) this.#counted = [];
    if (this.#aborted.length === 0) return;
    const aborted = this.#aborted;
    this.#aborted = [];
    for (const id of aborted) {
      const signal = this.#exported.get(id)?.value as AbortSignal | undefined;
      if (signal) this.#calls.abort(id, signal.reason);
    }
  }

  /** The message will not be sent. */
  undo(): void {
    for (const id of this.#counted) this.released(id, 1);
    this.#counted = [];
    this.#moving = [];
    this.#aborted = [];
  }

  /** The other side does not use `count` of the references it was given. */
  released(id: number, count: number): void {
    const exported = this.#exported.get(id);
    if (exported === undefined) return;
    exported.count -= count;
    if (exported.count <= 0) this.#forget(id);
  }

  /** What a call of the other side to one of its references runs here. */
  callable(id: number): AnyFunction | undefined {
    return this.#exported.get(id)?.call;
  }

  // --- what this side has been given ---

  valueOf(number: number): unknown {
    const id = Math.floor(number / KINDS);
    switch (number % KINDS) {
      case YOURS:
        return this.#exported.get(id)?.value;
      case MOVED: {
        this.#received.push(-id);
        return this.#arrived.get(id);
      }
      case SIGNAL:
        return this.#import(id, () => {
          const controller = new AbortController();
          this.#controllers.set(id, new WeakRef(controller));
          // The signal keeps its controller alive, so that it can be aborted as long as it is in use.
          holders.set(controller.signal, controller);
          return controller.signal;
        });
      case ITERATOR:
        return this.#import(id, () => this.#iterator(id));
      default:
        return this.#import(id, () => {
          const call = (...args: unknown[]) => this.#calls.callReference(id, args, 'a callback');
          return call;
        });
    }
  }

  #import(id: number, make: () => object): object {
    const imported = this.#imported.get(id);
    const known = imported?.stands.deref();
    const counted = this.#received.includes(id);
    if (!counted) this.#received.push(id);
    if (imported && known) {
      if (!counted) imported.count++;
      return known;
    }
    const made = make();
    // One that was collected has not given its count back yet.
    this.#imported.set(id, { stands: new WeakRef(made), count: 1 + (imported?.count ?? 0) });
    this.#origins.set(made, id);
    this.#collected.register(made, id);
    return made;
  }

  /** The message has been read. */
  received(): void {
    if (this.#received.length === 0) return;
    for (const id of this.#received) if (id < 0) this.#arrived.delete(-id);
    this.#received = [];
  }

  #give(id: number): void {
    const imported = this.#imported.get(id);
    if (imported === undefined || imported.stands.deref() !== undefined) return;
    this.#imported.delete(id);
    this.#controllers.delete(id);
    this.#calls.release(id, imported.count);
  }

  /** Both an asynchronous iterator and, where the thread may block, an ordinary one. */
  #iterator(id: number): object {
    let over = false;
    const done = (value: unknown) => ({ done: true, value });
    const note = (result: unknown) => {
      if ((result as IteratorResult<unknown>).done) over = true;
      return result;
    };
    const later = (method: string) => async (argument?: unknown) => {
      if (over) {
        if (method === 'throw') throw argument;
        return done(method === 'return' ? argument : undefined);
      }
      if (method !== 'next') over = true;
      return note(await this.#calls.callReference(id, [method, argument], 'an iterator'));
    };
    const now = (method: string) => (argument?: unknown) => {
      if (over) return done(argument);
      if (method !== 'next') over = true;
      return note(this.#calls.blockOnReference(id, [method, argument]));
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

  /** A value that moves has come. */
  arrive(value: unknown): void {
    this.#arrived.set(this.#nextArrived++, value);
  }

  /** How many have come and are not used yet. */
  get arrivals(): number {
    return this.#arrived.size;
  }

  abort(id: number, reason: unknown): void {
    this.#controllers.get(id)?.deref()?.abort(reason);
  }

  /** Nothing can be passed on any more: signals lose their listeners, iterators end. */
  close(): void {
    for (const id of [...this.#exported.keys()]) this.#forget(id);
    this.#imported.clear();
    this.#controllers.clear();
    this.#arrived.clear();
  }
}

const holders = new WeakMap<AbortSignal, AbortController>();
const remoteIterables = new WeakSet<object>();

/** Whether it stands for an iterator of another thread. */
export function isRemoteIterable(value: object): value is RemoteIterable<unknown> {
  return remoteIterables.has(value);
}

/** How to iterate over what is neither an array nor another collection that is copied. */
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
