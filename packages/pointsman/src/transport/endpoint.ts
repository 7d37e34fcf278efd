/**
 * One end of a connection over message ports: calls the functions that the other end serves, answers its calls, and
 * passes functions, signals and iterators by reference, as structured clone cannot carry them.
 *
 * Invariants:
 * - Each call has one outcome: a value, an error, or the error of a closed connection. A result that arrives after
 *   the call was cancelled or timed out is dropped.
 * - Records arrive in the order in which they were sent. A value that cannot be sent, or that the other side cannot
 *   read, fails only the call that it belongs to.
 * - A value is copied when it is sent, for one record: it shares nothing with another record, and a later change
 *   does not reach the other side.
 *
 * The owner of the endpoint may send records of its own kinds, numbered from {@link OWN_KINDS}.
 */

import type { WaitOptions } from '../sync/options.js';
import { giveUpOn } from '../sync/wait/give-up.js';
import { type RunInContext, runHere } from './async-context.js';
import { Batches, type Post, STRIDE } from './batches.js';
import { DataCloneError, platformRefusal } from './clone-errors.js';
import type { NamedFunction } from './functions.js';
import { isThenable, timedOut, toPlainError } from './outcome.js';
import { type Baggage, type Packed, pack, unpack } from './pack.js';
import { References, StaleReferenceError } from './references.js';
import { copySmall, copySmallArguments, NOT_SMALL } from './small-copies.js';
import { survey } from './survey.js';
import type { Transferable } from './transfer.js';

/** Calls function `a` with the arguments `b`; the reply has the number `id`. */
const CALL = 1;
/** Calls function `a` with the arguments `b`, without a reply. */
export const SEND = 2;
/** Call `id` returned `b`. */
const RESULT = 3;
/** Call `id` threw `b`. */
const FAILED = 4;
/** The caller no longer waits for call `id`. */
const CANCEL = 5;
/** The sender no longer uses `a` of its references to `id`. */
const RELEASE = 6;
/** The signal `id` was aborted with the reason `b`. */
const ABORT = 7;
/** The next message is a record of kind `a` and number `id`, which the receiver may be unable to read. */
const ANNOUNCE = 8;
export const OWN_KINDS = 16;

/** Flag of a record whose value `b` is {@link Packed}. */
const PACKED = 1 << 8;
const KIND = 0xff;
/** Returns the kind of a record from its first entry. */
export const kindOf = (flags: unknown): number => (flags as number) & KIND;
/** Added to the number of a reference, to tell it from the number of a served function. */
const REFERENCE = 0x40000000;

export interface EndpointOptions {
  /** Posts a batch to the other end. Throws if it cannot be cloned. */
  readonly post: Post;
  /** The functions that the other end may call, by number. */
  readonly functions?: readonly NamedFunction[];
  /** Called with each record of the owner's own kinds. */
  handle?(kind: number, id: number, a: unknown, b: unknown, c: unknown): void;
  /** Called when the value of a record of the owner's own kinds cannot be read. */
  unreadable?(kind: number, id: number, error: unknown): void;
  /** The async context in which served functions run. */
  readonly run?: RunInContext | undefined;
  /** See {@link References}. */
  readonly separatesFunctions?: boolean | undefined;
  /** Returns the error of a call that will get no reply. */
  unanswered(name: string, why: string): unknown;
  /** Called with the number of calls that wait for a reply. */
  pendingChanged?(pending: number): void;
  /** Called when the endpoint begins or ends to have work that must keep the event loop alive. */
  activityChanged?(isActive: boolean): void;
}

interface PendingCall {
  readonly name: string;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** The result of a send. */
export interface Sent {
  /** Whether the value cannot be sent again: a part of it was moved, or is an iterator. */
  readonly isUnique: boolean;
}

const COPIED: Sent = { isUnique: false };
const MOVED: Sent = { isUnique: true };
const NONE: readonly Transferable[] = [];

export class Endpoint {
  readonly #options: EndpointOptions;
  readonly #run: RunInContext;
  readonly #batches: Batches;
  readonly #references: References;
  readonly #pending = new Map<number, PendingCall>();
  /**
   * The arguments of calls from the other end that are not answered yet. They are kept alive because a signal that
   * only its listeners reference may be collected as garbage, and would then never abort.
   */
  readonly #serving = new Map<number, readonly unknown[]>();
  #lastId = 0;
  #wasActive = false;
  #closed: string | undefined;
  /** The record that the other end announced for the next message. */
  #announced: { readonly kind: number; readonly id: number } | undefined;

  constructor(options: EndpointOptions) {
    this.#options = options;
    this.#run = options.run ?? runHere;
    this.#batches = new Batches(options.post);
    this.#references = new References({
      callReference: (id, args, name) => this.call(REFERENCE + id, args, {}, name),
      blockOnReference: () => {
        throw options.unanswered('an iterator', 'no call can block without shared memory');
      },
      release: (id, count) => this.#note(RELEASE, id, count),
      abort: (id, reason) => this.sendError(ABORT, id, reason),
      separatesFunctions: options.separatesFunctions,
    });
  }

  // --- calls ---

  /** Calls a function of the other end by its number. `name` appears in errors. */
  call(
    target: number,
    args: readonly unknown[],
    options: WaitOptions,
    name: string,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (options.signal?.aborted) throw options.signal.reason;
      if (this.#closed !== undefined) throw this.#options.unanswered(name, this.#closed);
      // No other thread can reply at once.
      if (options.timeout === 0) throw timedOut(name, 0);
      const id = ++this.#lastId;
      this.sendArguments(CALL, id, target, args);
      // A getter in the arguments may have closed the endpoint.
      if (this.#closed !== undefined) throw this.#options.unanswered(name, this.#closed);
      const stop = giveUpOn(
        options,
        (reason) => {
          this.#pending.delete(id);
          this.#note(CANCEL, id);
          this.#activityChanged();
          reject(reason);
        },
        (timeout) => timedOut(name, timeout),
      );
      const over = () => {
        stop();
        this.#pending.delete(id);
        this.#activityChanged();
      };
      this.#pending.set(id, {
        name,
        resolve(value) {
          over();
          resolve(value);
        },
        reject(error) {
          over();
          reject(error);
        },
      });
      this.#activityChanged();
    });
  }

  /** Calls a function without waiting for a reply. */
  notify(target: number, args: readonly unknown[], name: string): void {
    if (this.#closed !== undefined) throw this.#options.unanswered(name, this.#closed);
    this.sendArguments(SEND, 0, target, args);
    this.flush();
  }

  // --- records ---

  /**
   * Sends a record. Its value `b` may contain functions, signals and iterators. Throws a {@link DataCloneError} if the
   * value cannot be sent; then nothing was sent.
   *
   * A small plain value is copied here and shares a message with other records. Any other value is sent at once in
   * its own message: for many objects or bytes a second copy costs more than a message.
   */
  send(
    kind: number,
    id: number,
    a: unknown,
    b: unknown,
    c?: unknown,
    transfer: readonly Transferable[] = NONE,
  ): Sent {
    const copy = transfer.length === 0 ? copySmall(b) : NOT_SMALL;
    return this.#send(kind, id, a, b, c, transfer, copy);
  }

  /** As {@link send}, for a list of arguments. */
  sendArguments(
    kind: number,
    id: number,
    a: unknown,
    args: readonly unknown[],
    c?: unknown,
    transfer: readonly Transferable[] = NONE,
  ): Sent {
    const copy = transfer.length === 0 ? copySmallArguments(args) : NOT_SMALL;
    return this.#send(kind, id, a, args, c, transfer, copy);
  }

  #send(
    kind: number,
    id: number,
    a: unknown,
    b: unknown,
    c: unknown,
    transfer: readonly Transferable[],
    copy: unknown,
  ): Sent {
    if (copy !== NOT_SMALL) {
      this.#batches.add(kind, id, a, copy, c);
      return COPIED;
    }
    const { needsPacking, isRisky } = survey(b, transfer);
    if (!needsPacking) {
      this.#sendAlone([kind, id, a, b, c], b, transfer, isRisky);
      return transfer.length > 0 ? MOVED : COPIED;
    }
    const references = this.#references;
    const isUnique = transfer.length > 0;
    const baggage: Baggage = {
      transfer: [...transfer],
      passed: new Set(),
      isUnique,
      isShared: isUnique,
    };
    try {
      const packed = pack(b, references, baggage);
      if (!baggage.isShared && baggage.transfer.length === 0) {
        this.#batches.add(kind | PACKED, id, a, packed, c);
      } else {
        const record = [kind | PACKED, id, a, packed, c];
        this.#sendAlone(record, packed.value, baggage.transfer, isRisky);
      }
    } catch (error) {
      references.undo(baggage.passed);
      throw error;
    }
    references.sent(baggage.passed);
    this.#activityChanged();
    return baggage;
  }

  #sendAlone(
    record: unknown[],
    value: unknown,
    transfer: readonly Transferable[],
    isRisky: boolean,
  ): void {
    const [kind, id] = record as [number, number];
    if (isRisky) this.#batches.add(ANNOUNCE, id, kind & KIND, undefined, undefined);
    try {
      this.#batches.sendAlone(record, transfer);
    } catch (error) {
      throw platformRefusal(value, error, transfer);
    }
  }

  /** Sends an error; if it cannot be cloned, sends its name, message and stack. */
  sendError(kind: number, id: number, error: unknown, a?: unknown, c?: unknown): void {
    if (this.#closed !== undefined) return;
    try {
      this.send(kind, id, a, error, c);
    } catch {
      this.send(kind, id, a, toPlainError(error), c);
    }
  }

  /** Sends a record without a value. */
  #note(kind: number, id: number, a?: unknown): void {
    if (this.#closed === undefined) this.#batches.add(kind, id, a, undefined, undefined);
  }

  /** Sends the records of this turn now. */
  flush(): void {
    this.#batches.flush();
  }

  /** Handles a batch. A record that fails does not affect the others. */
  receive(records: readonly unknown[]): void {
    this.#announced = undefined;
    if (!Array.isArray(records)) return;
    for (let at = 0; at < records.length && this.#closed === undefined; at += STRIDE) {
      const flags = records[at] as number;
      const id = records[at + 1] as number;
      let value = records[at + 3];
      if (flags & PACKED) {
        try {
          value = unpack(value as Packed, this.#references);
        } catch (error) {
          this.#unreadable(flags & KIND, id, error);
          continue;
        }
      }
      try {
        this.#handle(flags & KIND, id, records[at + 2], value, records[at + 4]);
      } catch (error) {
        // Reported as an unhandled rejection; the other records are still handled.
        void Promise.reject(error);
      }
    }
  }

  /**
   * Handles a message that cannot be read. Returns whether its sender announced it: then only the call that the
   * message belongs to fails.
   */
  receiveUnreadable(cause: unknown): boolean {
    const announced = this.#announced;
    if (announced === undefined) return false;
    this.#announced = undefined;
    const reason = cause instanceof Error ? `: ${cause.message}` : '';
    const error = new DataCloneError(`the value cannot be read in this thread${reason}`, { cause });
    this.#unreadable(announced.kind, announced.id, error);
    return true;
  }

  #unreadable(kind: number, id: number, error: unknown): void {
    switch (kind) {
      case CALL:
        this.sendError(FAILED, id, error);
        break;
      case SEND:
        // The caller expects no reply.
        void Promise.reject(error);
        break;
      case RESULT:
      case FAILED:
        this.#pending.get(id)?.reject(error);
        break;
      case ABORT:
        this.#references.abort(id, error);
        break;
      default:
        this.#options.unreadable?.(kind, id, error);
    }
  }

  #handle(kind: number, id: number, a: unknown, b: unknown, c: unknown): void {
    switch (kind) {
      case CALL:
      case SEND:
        this.#run(() => this.#serve(kind, id, a as number, b as readonly unknown[]));
        break;
      case RESULT:
        this.#pending.get(id)?.resolve(b);
        break;
      case FAILED:
        this.#pending.get(id)?.reject(b);
        break;
      case CANCEL:
        this.#serving.delete(id);
        break;
      case RELEASE:
        this.#references.released(id, a as number);
        this.#activityChanged();
        break;
      case ABORT:
        this.#references.abort(id, b);
        break;
      case ANNOUNCE:
        this.#announced = { kind: a as number, id };
        break;
      default:
        this.#options.handle?.(kind, id, a, b, c);
    }
  }

  #serve(kind: number, id: number, target: number, args: readonly unknown[]): void {
    const isReference = target >= REFERENCE;
    const served = isReference ? undefined : this.#options.functions?.[target];
    const call = isReference ? this.#references.callable(target - REFERENCE) : served?.call;
    const name = served?.name ?? 'a callback';
    let result: unknown;
    let isLater: boolean;
    try {
      if (call === undefined) throw new StaleReferenceError(`${name} no longer exists`);
      result = call(...args);
      // `then` may be a getter that throws.
      isLater = isThenable(result);
    } catch (error) {
      // The caller of a SEND expects no reply: an unhandled rejection reports the error.
      if (kind === SEND) void Promise.reject(error);
      else this.sendError(FAILED, id, error);
      return;
    }
    if (kind === SEND) return;
    if (!isLater) {
      this.#respond(id, result);
      return;
    }
    this.#serving.set(id, args);
    // `Promise.resolve` also handles a thenable whose `then` throws.
    Promise.resolve(result).then(
      (value) => {
        if (this.#serving.delete(id)) this.#respond(id, value);
      },
      (error) => {
        if (this.#serving.delete(id)) this.sendError(FAILED, id, error);
      },
    );
  }

  #respond(id: number, result: unknown): void {
    if (this.#closed !== undefined) return;
    try {
      this.send(RESULT, id, undefined, result);
    } catch (error) {
      this.sendError(FAILED, id, error);
    }
  }

  #activityChanged(): void {
    this.#options.pendingChanged?.(this.#pending.size);
    const isActive = this.#closed === undefined && this.#pending.size + this.#references.size > 0;
    if (isActive === this.#wasActive) return;
    this.#wasActive = isActive;
    this.#options.activityChanged?.(isActive);
  }

  /** Closes the endpoint and rejects all pending calls. */
  close(why: string): void {
    if (this.#closed !== undefined) return;
    this.#closed = why;
    for (const { name, reject } of [...this.#pending.values()]) {
      reject(this.#options.unanswered(name, why));
    }
    this.#serving.clear();
    this.#references.close();
    this.#activityChanged();
  }
}
