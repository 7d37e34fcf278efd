/**
 * Encodes frames and writes them to a ring.
 *
 * Invariants:
 * - A frame that fails to encode has no effect on the other side or on the codec.
 * - The frames of one turn are delivered together, with one wake-up. Frames without space are sent as soon as there is
 *   space.
 */

import { nextMicrotask } from '../sync/wait/give-up.js';
import { DataCloneError } from '../transport/clone-errors.js';
import { toPlainError } from '../transport/outcome.js';
import { platform } from '../transport/platform.js';
import { isTransferred, type Transferable, transferCopy } from '../transport/transfer.js';
import { Encoder } from './codec/encoder.js';
import { BridgeStateError } from './errors.js';
import type { FrameValues } from './frame-values.js';
import { BLOCKING_CALL, RESULT, VALUES_SHIFT } from './frames.js';
import type { RingWriter } from './ring/ring.js';
import { MessageTooLargeError, Writer } from './ring/writer.js';
import type { SharedState } from './shared-state.js';

export interface FrameWriterOptions {
  readonly ring: RingWriter;
  readonly state: SharedState;
  readonly values: FrameValues;
  readonly maxMessageSize: number;
  /** Whether the other side can receive messages while it blocks. */
  readonly otherReceives: boolean;
  post(values: readonly unknown[], transfer: readonly Transferable[]): void;
}

/** Minimum bytes allowed for an error, which must always fit. */
const MIN_ERROR_SIZE = 1 << 16;
/** Minimum bytes for which one copy and a transfer beat two copies, in the lab's row of 1 MB. */
const HEAVY = 1 << 18;

export class FrameWriter {
  readonly ring: RingWriter;
  readonly #options: FrameWriterOptions;
  readonly #writer: Writer;
  readonly #errorWriter: Writer;
  readonly #encoder: Encoder;
  #isWriting = false;
  #delivers = false;
  #waitsForSpace = false;
  #isStopped = false;

  constructor(options: FrameWriterOptions) {
    this.#options = options;
    this.ring = options.ring;
    this.#writer = new Writer(options.maxMessageSize);
    this.#errorWriter = new Writer(Math.max(options.maxMessageSize, MIN_ERROR_SIZE));
    this.#encoder = new Encoder(options.values);
  }

  // --- frames ---

  call(kind: number, id: number, target: number, args: readonly unknown[], name: string): void {
    const writer = this.#begin(this.#writer, name);
    try {
      const { length } = args;
      writer.varint(length);
      for (let i = 0; i < length; i++) {
        const value = kind === BLOCKING_CALL ? args[i] : this.#copyForTransfer(args[i]);
        this.#encoder.encode(writer, value);
      }
      this.#postOutgoing();
    } catch (error) {
      throw this.#abandon(error, name);
    }
    this.#end(writer, kind, id, target);
  }

  /** Replies to a call. Throws if the result cannot be passed; that error is the reply then. */
  result(id: number, result: unknown, name: string, callerIsBlocked: boolean): void {
    const { values, otherReceives } = this.#options;
    const isOutOfReach = callerIsBlocked && !otherReceives;
    let value = result;
    if (isOutOfReach && isTransferred(value)) ({ value } = value);
    else if (!callerIsBlocked) value = this.#copyForTransfer(value);
    const writer = this.#begin(this.#writer, name);
    values.reachable = !isOutOfReach;
    try {
      this.#encoder.encode(writer, value);
      if (isOutOfReach && values.outgoing.length > 0) {
        throw new BridgeStateError(
          `${name}() transfers a part of its result, which cannot reach a blocked thread: call it through async`,
          name,
        );
      }
      this.#postOutgoing();
    } catch (error) {
      throw this.#abandon(error, name);
    } finally {
      values.reachable = true;
    }
    this.#end(writer, RESULT, id, 0);
  }

  /** Writes an error, or a simplified copy if it cannot be passed as it is. */
  error(kind: number, first: number, error: unknown): void {
    if (this.#isWriting) {
      nextMicrotask.then(() => this.error(kind, first, error));
      return;
    }
    if (this.#isStopped) return;
    const writer = this.#begin(this.#errorWriter, 'an error');
    try {
      this.#encoder.encode(writer, error);
      this.#postOutgoing();
    } catch {
      this.#encoder.abandon();
      this.#options.values.undo();
      this.ring.begin(writer);
      this.#encoder.encode(writer, toPlainError(error));
    }
    this.#end(writer, kind, first, 0);
    this.deliverSoon();
  }

  /** Writes a frame without a payload; after the current frame if one is being written. */
  control(kind: number, first: number, second: number): void {
    if (this.#isWriting) {
      nextMicrotask.then(() => this.control(kind, first, second));
      return;
    }
    if (this.#isStopped) return;
    this.ring.begin(this.#writer);
    this.ring.end(this.#writer, kind, first, second);
    this.deliverSoon();
  }

  /**
   * Sends large byte arrays by message: one copy instead of two. Not for a blocked thread, which receives messages more
   * slowly, nor in Deno, which inspects each byte.
   */
  #copyForTransfer(value: unknown): unknown {
    if (!(value instanceof Uint8Array) || value.byteLength < HEAVY) return value;
    // The encoder rejects arrays above the limit.
    if (!platform.movesBytes || value.byteLength > this.#options.maxMessageSize) return value;
    const copy = new Uint8Array(value);
    return transferCopy(copy, [copy.buffer]);
  }

  #begin(writer: Writer, name: string): Writer {
    if (this.#isWriting) {
      throw new BridgeStateError(`${name}() is called while another call is being encoded`, name);
    }
    this.ring.begin(writer);
    this.#isWriting = true;
    return writer;
  }

  #abandon(error: unknown, name: string): unknown {
    this.#isWriting = false;
    this.#encoder.abandon();
    this.#options.values.undo();
    if (error instanceof MessageTooLargeError) {
      const { maxMessageSize } = this.#options;
      const message = `${name}() passes more than ${maxMessageSize} bytes, the maxMessageSize of this bridge`;
      return Object.assign(new RangeError(message, { cause: error }), { call: name });
    }
    const isOurs = error instanceof DataCloneError || error instanceof TypeError;
    return isOurs ? Object.assign(error, { call: name }) : error;
  }

  /** Posts all values in one message before the frame, so the reader rarely waits for them. */
  #postOutgoing(): void {
    const { outgoing } = this.#options.values;
    if (outgoing.length === 0) return;
    this.#options.post(
      outgoing.map(({ value }) => value),
      outgoing.flatMap(({ list }) => list),
    );
  }

  #end(writer: Writer, kind: number, first: number, second: number): void {
    const { values } = this.#options;
    this.#isWriting = false;
    this.ring.end(writer, kind | (values.outgoing.length << VALUES_SHIFT), first, second);
    values.sent();
  }

  // --- delivery ---

  deliverSoon(): void {
    if (this.#delivers) return;
    this.#delivers = true;
    nextMicrotask.then(() => {
      this.#delivers = false;
      this.deliver();
    });
  }

  /** Sends as many written frames as fit; the rest follow when there is space. */
  deliver(): void {
    const { consumed } = this.ring;
    if (this.deliverNow() || this.#waitsForSpace || this.#isStopped) return;
    this.#waitsForSpace = true;
    void this.ring.waitForSpaceAsync(consumed).then(() => this.spaceAvailable());
  }

  /** Sends as many written frames as fit. Returns whether all were sent. */
  deliverNow(): boolean {
    const all = this.ring.flush();
    if (this.ring.isWakeDue) this.#options.state.beforeWake();
    this.ring.wake();
    return all;
  }

  /** Called after this thread has blocked: it may have consumed the wake-up of its event loop. */
  resume(): void {
    if (this.ring.queued > 0) this.spaceAvailable();
  }

  get isWaitingForSpace(): boolean {
    return this.#waitsForSpace;
  }

  spaceAvailable(): void {
    this.#waitsForSpace = false;
    if (!this.#isStopped) this.deliver();
  }

  stop(): void {
    this.#isStopped = true;
    this.ring.stop();
  }
}
