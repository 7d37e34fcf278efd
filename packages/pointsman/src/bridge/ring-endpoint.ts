/**
 * One end of a bridge over shared memory: calls the functions of the other side, and serves its calls.
 *
 * Invariants:
 * - Each call has one outcome: a value, an error, or the end of the bridge. A reply to a cancelled call is decoded,
 *   because it may define shapes, and then dropped.
 * - Frames are handled one at a time, in the order in which they were sent, for blocking and asynchronous calls alike.
 */

import type { WaitOptions } from '../sync/options.js';
import type { RunInContext } from '../transport/async-context.js';
import type { NamedFunction } from '../transport/functions.js';
import { isThenable, timedOut, withCaller } from '../transport/outcome.js';
import { References, StaleReferenceError } from '../transport/references.js';
import type { Transferable } from '../transport/transfer.js';
import { type BlockedCall, type BlockedEndpoint, BlockingCalls } from './blocking-calls.js';
import { type Ending, unanswered } from './ending.js';
import type { BridgeEndpoint, TargetedCall } from './endpoint.js';
import { BridgeStateError } from './errors.js';
import { FrameReader } from './frame-reader.js';
import { FrameValues } from './frame-values.js';
import { FrameWriter } from './frame-writer.js';
import {
  ABORT,
  BLOCKING_CALL,
  CALL,
  CANCEL,
  CLOSE,
  FAILED,
  KIND_MASK,
  PING,
  PONG,
  REFERENCE,
  RELEASE,
  RESULT,
  SEND,
} from './frames.js';
import { PendingCalls } from './pending-calls.js';
import { type PolledEndpoint, Poller } from './poller.js';
import type { RingReader, RingWriter } from './ring/ring.js';
import type { SharedState } from './shared-state.js';

export interface RingEndpointOptions {
  readonly ringReader: RingReader;
  readonly ringWriter: RingWriter;
  readonly state: SharedState;
  readonly cannotBlock?: string | undefined;
  /** Whether the other side can receive messages while it blocks. */
  readonly otherReceives: boolean;
  readonly maxMessageSize: number;
  readonly heartbeatTimeout: number;
  readonly spins: boolean;
  /** Runs calls of the other side in this side's asynchronous context. */
  readonly run: RunInContext;
  readonly functions: readonly NamedFunction[];
  post(type: string, payload: unknown, transfer: readonly Transferable[]): void;
  /** Receives one message synchronously. Returns whether there was one. */
  readonly receive?: (() => boolean) | undefined;
  /** Called when a frame is unreadable, so the bridge cannot continue. */
  broken(why: string): void;
  /** Whether the other thread has ended, as far as a blocked thread can detect. */
  isOtherGone(): boolean;
  /** Called when a blocked thread detects the end of the bridge. */
  otherHasEnded(hasClosed: boolean): void;
  keepAlive(isBusy: boolean): void;
}

export class RingEndpoint implements BridgeEndpoint, BlockedEndpoint, PolledEndpoint {
  names: readonly string[] = [];
  readonly #options: RingEndpointOptions;
  readonly #references = new References({
    callReference: (id, args) => this.call(REFERENCE + id, args),
    blockOnReference: (id, args) => this.block(REFERENCE + id, args),
    release: (id, count) => this.#writer.control(RELEASE, id, count),
    abort: (id, reason) => this.#writer.error(ABORT, id, reason),
  });
  readonly #values = new FrameValues(this.#references);
  readonly #writer: FrameWriter;
  readonly #reader: FrameReader;
  readonly #poller: Poller;
  readonly #blocking: BlockingCalls;
  readonly #pending = new PendingCalls((id) => {
    this.#writer.control(CANCEL, id, 0);
    this.#keepAlive();
  });
  /**
   * Pending calls of the other side, with their arguments. A signal that is referenced only by its listeners could be
   * collected as garbage, and would never abort.
   */
  readonly #serving = new Map<number, readonly unknown[]>();
  #isKeptAlive = false;
  #ending: Ending | undefined;
  otherReason: unknown;

  constructor(options: RingEndpointOptions) {
    this.#options = options;
    const { ringReader, ringWriter, state, spins } = options;
    const values = this.#values;
    const writer = new FrameWriter({
      ...options,
      ring: ringWriter,
      values,
      post: (values, transfer) => options.post('values', values, transfer),
    });
    const reader = new FrameReader({ ...options, ring: ringReader, values });
    this.#writer = writer;
    this.#reader = reader;
    this.#poller = new Poller(this, reader, writer, state, spins);
    this.#blocking = new BlockingCalls(this, reader, writer, state, this.#poller, options);
  }

  get expectsReplies(): boolean {
    return this.#pending.size > 0;
  }

  begin(names: readonly string[]): void {
    this.names = names;
    this.#keepAlive();
    this.#poller.pump();
  }

  // --- calls ---

  call(target: number, args: readonly unknown[], options?: WaitOptions): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#checkCall(target, options);
      const name = this.nameOf(target);
      const id = this.#pending.nextId();
      this.#writeCall(CALL, id, target, args);
      this.#pending.add(id, name, options, resolve, reject);
      this.#writer.deliverSoon();
      this.#keepAlive();
      this.#poller.expectReply();
    });
  }

  send(target: number, args: readonly unknown[]): void {
    this.#checkCall(target);
    this.#writeCall(SEND, 0, target, args);
    this.#writer.deliverSoon();
    this.#keepAlive();
  }

  block(target: number, args: readonly unknown[], options?: WaitOptions): unknown {
    this.#checkCanBlock(target);
    this.#checkCall(target, options);
    const blocking = this.#blocking;
    const id = this.#pending.nextIds(1);
    const call = blocking.begin(id, 1, target);
    try {
      this.#writeCall(BLOCKING_CALL, id, target, args);
      blocking.run(call, options);
    } finally {
      blocking.end(call);
      this.#keepAlive();
    }
    const [value] = call.values;
    if (call.firstFailed >= 0) throw withCaller(value);
    return value;
  }

  blockForAll(calls: readonly TargetedCall[], options?: WaitOptions): unknown[] {
    const blocking = this.#blocking;
    this.#checkCanBlock();
    this.#checkCall(calls, options);
    if (calls.length === 0) return [];
    const call = blocking.begin(this.#pending.nextIds(calls.length), 0, calls);
    try {
      for (const { target, args } of calls) {
        this.#writeCall(BLOCKING_CALL, call.from + call.count, target, args);
        call.count++;
        call.remaining++;
      }
      blocking.run(call, options);
    } catch (error) {
      for (let i = 0; i < call.count; i++) this.#writer.control(CANCEL, call.from + i, 0);
      throw error;
    } finally {
      blocking.end(call);
      this.#keepAlive();
    }
    if (call.firstFailed >= 0) throw withCaller(call.values[call.firstFailed]);
    return call.values;
  }

  #checkCanBlock(target?: number): void {
    const { cannotBlock } = this.#options;
    if (cannotBlock === undefined) return;
    const name = target === undefined ? 'batch' : this.nameOf(target);
    throw new BridgeStateError(`${name}() cannot block: ${cannotBlock}`, name);
  }

  /** Throws if the call is cancelled or the bridge has ended. With a timeout of 0 no reply can arrive in time. */
  #checkCall(targets: BlockedCall['targets'], options?: WaitOptions): void {
    if (options?.signal?.aborted) throw options.signal.reason;
    this.#checkOpen(targets);
    if (options?.timeout === 0) throw timedOut(this.#blocking.nameOf(targets), 0);
  }

  #checkOpen(targets: BlockedCall['targets']): void {
    if (this.#ending) throw unanswered(this.#ending, this.#blocking.nameOf(targets));
  }

  #writeCall(kind: number, id: number, target: number, args: readonly unknown[]): void {
    const name = this.nameOf(target);
    this.#writer.call(kind, id, target, args, name);
    // A getter of an argument may have closed the bridge: the call would wait forever.
    this.#checkOpen(target);
  }

  nameOf(target: number): string {
    return target >= REFERENCE ? 'a callback' : (this.names[target] as string);
  }

  /** Keeps this thread alive while a reply is pending or the other side may call. */
  #keepAlive(): void {
    const { functions, keepAlive } = this.#options;
    const isBusy = functions.length + this.#pending.size + this.#references.size > 0;
    if ((isBusy && this.#ending === undefined) === this.#isKeptAlive) return;
    this.#isKeptAlive = !this.#isKeptAlive;
    keepAlive(this.#isKeptAlive);
  }

  // --- frames of the other side ---

  handleNext(): boolean {
    const reader = this.#reader;
    if (!reader.next()) return false;
    const { first, second } = reader.ring;
    const kind = reader.ring.kind & KIND_MASK;
    switch (kind) {
      case CALL:
      case BLOCKING_CALL:
      case SEND:
        this.#options.run(() => this.#serve(kind, first, second));
        break;
      case RESULT:
      case FAILED: {
        const value = reader.value();
        const isFailure = kind === FAILED || reader.failure !== undefined;
        this.#answered(first, reader.failure ?? value, isFailure);
        break;
      }
      case ABORT: {
        const reason = reader.value();
        this.#references.abort(first, reader.failure ?? reason);
        break;
      }
      case CLOSE: {
        const reason = reader.value();
        this.otherReason = reader.failure ?? reason;
        break;
      }
      default:
        reader.release();
        this.#handleControl(kind, first, second);
    }
    return true;
  }

  #handleControl(kind: number, first: number, second: number): void {
    switch (kind) {
      case CANCEL:
        this.#serving.delete(first);
        break;
      case RELEASE:
        this.#references.released(first, second);
        this.#keepAlive();
        break;
      case PING:
        this.#writer.control(PONG, first, 0);
        break;
      case PONG:
        this.#blocking.ponged(first);
    }
  }

  #answered(id: number, value: unknown, failed: boolean): void {
    if (this.#blocking.answered(id, value, failed)) return;
    this.#pending.settle(id, value, failed);
    this.#keepAlive();
  }

  #serve(kind: number, id: number, target: number): void {
    const reader = this.#reader;
    const args = reader.arguments();
    if (args === undefined) return;
    const { failure } = reader;
    const isReference = target >= REFERENCE;
    const served = isReference ? undefined : this.#options.functions[target];
    const name = served?.name ?? 'a callback';
    let result: unknown;
    let settlesLater = false;
    try {
      if (failure) throw failure;
      const call = isReference ? this.#references.callable(target - REFERENCE) : served?.call;
      if (call === undefined) throw new StaleReferenceError(`${name} no longer exists`);
      result = call(...args);
      settlesLater = isThenable(result);
    } catch (error) {
      // The caller expects no reply: an unhandled rejection reports the error.
      if (kind === SEND) void Promise.reject(error);
      else this.#fail(id, error);
      return;
    }
    if (kind === SEND) return;
    if (settlesLater) {
      this.#serveLater(kind, id, args, name, result);
      return;
    }
    this.#poller.answered();
    this.#respond(kind, id, result, name);
  }

  #serveLater(
    kind: number,
    id: number,
    args: readonly unknown[],
    name: string,
    promise: unknown,
  ): void {
    this.#serving.set(id, args);
    if (this.#blocking.isBlocked) this.#blocking.defer(id, name);
    this.#poller.deferred();
    const settled = (answer: () => void) => {
      if (!this.#serving.delete(id) || this.#ending !== undefined) return;
      answer();
      this.#poller.answeredLater();
    };
    // The `then` of a non-native promise may throw.
    Promise.resolve(promise).then(
      (value) => settled(() => this.#respond(kind, id, value, name)),
      (error) => settled(() => this.#fail(id, error)),
    );
  }

  #respond(kind: number, id: number, result: unknown, name: string): void {
    if (this.#ending !== undefined) return;
    try {
      this.#writer.result(id, result, name, kind === BLOCKING_CALL);
    } catch (error) {
      this.#fail(id, error);
    }
    this.#keepAlive();
  }

  #fail(id: number, error: unknown): void {
    this.#poller.answered();
    this.#writer.error(FAILED, id, error);
    this.#keepAlive();
  }

  failServed(id: number, error: Error): void {
    if (this.#serving.delete(id)) this.#fail(id, error);
  }

  receive(type: string, payload: unknown, isInFrame: boolean): void {
    switch (type) {
      case 'values':
        this.#values.arrive(payload as readonly unknown[]);
        if (!isInFrame) this.#poller.pump();
        break;
      case 'wake':
        if (!isInFrame) this.#poller.woken();
        break;
      case 'space':
        this.#writer.spaceAvailable();
    }
  }

  receiveUnreadable(cause: unknown, isInFrame: boolean): boolean {
    // Of all messages, only those with values can be unreadable.
    this.#values.arriveUnreadable(cause);
    if (!isInFrame) this.#poller.pump();
    return true;
  }

  // --- the end ---

  checkEnded(isSilent: boolean): Ending | undefined {
    const { state, isOtherGone, otherHasEnded } = this.#options;
    if (this.#ending === undefined) {
      // The port is checked first: a side sets the closed word before it closes its port.
      const isGone = isSilent && isOtherGone();
      if (state.isClosed || isGone) otherHasEnded(state.isClosed);
    }
    return this.#ending;
  }

  drain(): void {
    while (this.#ending === undefined && this.handleNext()) {}
  }

  sendClose(reason: unknown): void {
    if (reason !== undefined) this.#writer.error(CLOSE, 0, reason);
    this.#writer.deliver();
  }

  close(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    this.#options.state.close();
    this.#pending.rejectAll((name) => unanswered(ending, name));
    this.#serving.clear();
    this.#references.close();
    this.#values.close();
    this.#writer.stop();
    this.#poller.stop();
    this.#keepAlive();
  }
}
