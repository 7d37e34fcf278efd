/**
 * What one side says to the other over its ring.
 *
 * Invariants:
 * - A frame that could not be encoded was never begun, for the other side and for the codec alike.
 * - What was written is delivered, and the other side woken, once for all of one turn; what finds no room
 *   follows as soon as there is some.
 */

import { nextMicrotask } from '../sync/wait/give-up.js';
import { DataCloneError } from '../transport/clone-errors.js';
import { toPlainError } from '../transport/outcome.js';
import { platform } from '../transport/platform.js';
import { isTransferred, type Transferable, transferCopy } from '../transport/transfer.js';
import { Encoder } from './codec/encoder.js';
import { BridgeStateError } from './errors.js';
import type { FrameValues } from './frame-values.js';
import { BLOCKING_CALL, MOVED, RESULT } from './frames.js';
import type { RingWriter } from './ring/ring.js';
import { MessageTooLargeError, Writer } from './ring/writer.js';
import type { SharedState } from './shared-state.js';

export interface FrameWriterOptions {
  readonly ring: RingWriter;
  readonly state: SharedState;
  readonly values: FrameValues;
  /** The most bytes of one frame. */
  readonly maxMessageSize: number;
  /** Whether the other side can receive messages while it blocks. */
  readonly otherReceives: boolean;
  /** Posts values that travel beside a frame. */
  post(values: readonly unknown[], transfer: readonly Transferable[]): void;
}

/** An error must always fit: bytes. */
const LEAST_FOR_ERRORS = 1 << 16;
/** From so many bytes on, copying once and handing over wins the row of 1 MB against two copies. */
const HEAVY = 1 << 18;

export class FrameWriter {
  readonly ring: RingWriter;
  readonly #options: FrameWriterOptions;
  readonly #writer: Writer;
  readonly #errorWriter: Writer;
  readonly #encoder: Encoder;
  #isWriting = false;
  #delivers = false;
  #waitsForRoom = false;
  #isStopped = false;

  constructor(options: FrameWriterOptions) {
    this.#options = options;
    this.ring = options.ring;
    this.#writer = new Writer(options.maxMessageSize);
    this.#errorWriter = new Writer(Math.max(options.maxMessageSize, LEAST_FOR_ERRORS));
    this.#encoder = new Encoder(options.values);
  }

  // --- frames ---

  call(kind: number, id: number, target: number, args: readonly unknown[], name: string): void {
    const writer = this.#begin(this.#writer, name);
    try {
      const { length } = args;
      writer.varint(length);
      for (let i = 0; i < length; i++) {
        const value = kind === BLOCKING_CALL ? args[i] : this.#moveCopy(args[i]);
        this.#encoder.encode(writer, value);
      }
      this.#postMoving();
    } catch (error) {
      throw this.#abandon(error, name);
    }
    this.#end(writer, kind, id, target);
  }

  /** Answers a call. Throws what the caller gets instead if the result cannot be passed on. */
  result(id: number, result: unknown, name: string, callerIsBlocked: boolean): void {
    const { values, otherReceives } = this.#options;
    const isOutOfReach = callerIsBlocked && !otherReceives;
    let value = result;
    if (isOutOfReach && isTransferred(value)) ({ value } = value);
    else if (!callerIsBlocked) value = this.#moveCopy(value);
    const writer = this.#begin(this.#writer, name);
    values.reachable = !isOutOfReach;
    try {
      this.#encoder.encode(writer, value);
      if (isOutOfReach && values.moving.length > 0) {
        throw new BridgeStateError(
          `${name}() hands over a part of its result, which does not reach a thread that blocks: call it by async`,
          name,
        );
      }
      this.#postMoving();
    } catch (error) {
      throw this.#abandon(error, name);
    } finally {
      values.reachable = true;
    }
    this.#end(writer, RESULT, id, 0);
  }

  /** An error, or what is left of it if it cannot be passed on as it is. */
  error(kind: number, first: number, error: unknown): void {
    if (this.#isWriting) {
      nextMicrotask.then(() => this.error(kind, first, error));
      return;
    }
    if (this.#isStopped) return;
    const writer = this.#begin(this.#errorWriter, 'an error');
    try {
      this.#encoder.encode(writer, error);
      this.#postMoving();
    } catch {
      this.#encoder.abandon();
      this.#options.values.undo();
      this.ring.begin(writer);
      this.#encoder.encode(writer, toPlainError(error));
    }
    this.#end(writer, kind, first, 0);
    this.deliverSoon();
  }

  /** A frame without a payload. Within the writing of another it waits for its turn. */
  note(kind: number, first: number, second: number): void {
    if (this.#isWriting) {
      nextMicrotask.then(() => this.note(kind, first, second));
      return;
    }
    if (this.#isStopped) return;
    this.ring.begin(this.#writer);
    this.ring.end(this.#writer, kind, first, second);
    this.deliverSoon();
  }

  /**
   * Many bytes travel by message, copied once, instead of into the ring and out of it. Not for a thread
   * that blocks, which takes longer to get at a message, and not in Deno, which looks at each byte.
   */
  #moveCopy(value: unknown): unknown {
    if (!(value instanceof Uint8Array) || value.byteLength < HEAVY) return value;
    // Too many are refused where they are written.
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
      const message = `${name}() has more than ${maxMessageSize} bytes to pass on, the maxMessageSize of this bridge`;
      return Object.assign(new RangeError(message, { cause: error }), { call: name });
    }
    const isOurs = error instanceof DataCloneError || error instanceof TypeError;
    return isOurs ? Object.assign(error, { call: name }) : error;
  }

  /** All or nothing, and before the frame is there, so that a reader who finds it need not wait long. */
  #postMoving(): void {
    const { moving } = this.#options.values;
    if (moving.length === 0) return;
    this.#options.post(
      moving.map(({ value }) => value),
      moving.flatMap(({ list }) => list),
    );
  }

  #end(writer: Writer, kind: number, first: number, second: number): void {
    const { values } = this.#options;
    this.#isWriting = false;
    this.ring.end(writer, kind | (values.moving.length << MOVED), first, second);
    values.sent();
  }

  // --- delivery ---

  /** Delivers at the end of this turn what is written until then. */
  deliverSoon(): void {
    if (this.#delivers) return;
    this.#delivers = true;
    nextMicrotask.then(() => {
      this.#delivers = false;
      this.deliver();
    });
  }

  /** Sends what was written, as far as there is room, and sees that the rest follows. */
  deliver(): void {
    const { taken } = this.ring;
    if (this.deliverNow() || this.#waitsForRoom || this.#isStopped) return;
    this.#waitsForRoom = true;
    void this.ring.roomLater(taken).then(() => this.roomCame());
  }

  /** Sends what was written, as far as there is room; whether that was all. */
  deliverNow(): boolean {
    const all = this.ring.flush();
    if (this.ring.isWakeDue) this.#options.state.wakes();
    this.ring.wake();
    return all;
  }

  /** This thread has blocked, and may have been woken in place of its event loop. */
  resume(): void {
    if (this.ring.queued > 0) this.roomCame();
  }

  /** Whether something waits for room. */
  get isHeldUp(): boolean {
    return this.#waitsForRoom;
  }

  /** The other side has taken something, so that there may be room. */
  roomCame(): void {
    this.#waitsForRoom = false;
    if (!this.#isStopped) this.deliver();
  }

  /** Nothing can be said any more. */
  stop(): void {
    this.#isStopped = true;
    this.ring.stop();
  }
}
