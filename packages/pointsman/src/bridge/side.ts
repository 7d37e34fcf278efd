/**
 * One side of a bridge: calls what the other exposes, and answers its calls.
 *
 * Invariants:
 * - Each call has one outcome: a value, an error, or that the bridge has ended. What comes later for a
 *   call that was given up is read, since it may teach the codec something, and dropped.
 * - Frames are handled one at a time, in the order in which they were sent. A call's arguments are read
 *   and its frame given back before the function runs, so a function may call and block in turn.
 * - A frame that could not be encoded was never begun, for the other side and for the codec alike.
 *
 * The floor of one blocking call is two hand-overs of a cache line between cores, 0.3 us.
 */

import type { CallOptions } from '../transport/call-options.js';
import { DataCloneError } from '../transport/clone-errors.js';
import { soon } from '../transport/event-loop.js';
import { isThenable, timedOut, toPlainError, withCaller } from '../transport/outcome.js';
import { platform } from '../transport/platform.js';
import { isTransferred, transferCopy } from '../transport/transfer.js';
import { WaitPolicy } from '../transport/wait-policy.js';
import { type Blockable, Blocking, lookFor } from './blocking.js';
import { Decoder } from './codec/decoder.js';
import { Encoder } from './codec/encoder.js';
import type { Control } from './control.js';
import { BridgeClosedError, BridgeStateError } from './errors.js';
import {
  ABORT,
  BLOCKING_CALL,
  CALL,
  CANCEL,
  ENDED,
  FAILED,
  KIND,
  MOVED,
  PING,
  PONG,
  REFERENCE,
  RELEASE,
  RESULT,
  SEND,
  STOP,
  TASK,
} from './frames.js';
import { IdMap } from './id-map.js';
import type { FrameReader, FrameWriter } from './links.js';
import { Lookout, type Watched } from './lookout.js';
import { type Calls, References } from './references.js';
import { Reader } from './ring/reader.js';
import type { RingReader, RingWriter } from './ring/ring.js';
import { MessageTooLargeError, Writer } from './ring/writer.js';

export type AnyFunction = (...args: unknown[]) => unknown;

export interface SideOptions {
  readonly writer: FrameWriter;
  readonly reader: FrameReader;
  /** The same two where they are rings. */
  readonly ringWriter?: RingWriter | undefined;
  readonly ringReader?: RingReader | undefined;
  readonly control?: Control | undefined;
  /** Why this side cannot block; undefined where it can. */
  readonly cannotBlock?: string | undefined;
  /** Whether the other side can receive messages while it blocks. */
  readonly otherReceives: boolean;
  readonly limit: number;
  readonly patience: number;
  readonly spin: boolean;
  /** What this side exposes, by number. */
  readonly functions: readonly { readonly name: string; readonly call: AnyFunction }[];
  /** What becomes of the frames of a pool. */
  readonly tasks?: Tasks | undefined;
  post(type: string, payload: unknown, transfer: readonly Transferable[]): void;
  /** The next message that has come, without a return to the event loop. */
  receive?: (() => boolean) | undefined;
  /** The bridge cannot go on. */
  broken(reason: string): void;
  /** Whether something is under way that must not end with the event loop. */
  keepAlive(busy: boolean): void;
}

/** Whoever waits for an answer. */
export interface Pending {
  readonly name: string;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** The frames of a pool: those of the host for the thread that runs tasks, and the last one for the host. */
export interface Tasks {
  /** A task has come. It is answered by {@link Side.answer} or {@link Side.fail}. */
  take(id: number, target: number, args: readonly unknown[]): void;
  /** Task `id` shall stop. */
  stop(id: number, reason: unknown): void;
  /** What task `id` has answered with is used up: it is over. */
  ended(id: number): void;
}

/** Milliseconds that a side works through frames before others of its thread get their turn. */
const TURN = 4;
/** A sleeper is told of an answer before the others are ready after so many milliseconds. */
const PROMPT = 0.2;
/** Bytes. */
const leastForErrors = 1 << 16;
const heavy = 1 << 18;

/** One side: what it may say and hear does not depend on which of the two it is. */
export class Side implements Calls, Watched {
  readonly references = new References(this);
  readonly #options: SideOptions;
  readonly #out: FrameWriter;
  readonly #in: FrameReader;
  readonly #writer: Writer;
  /** An error must always fit. */
  readonly #errorWriter: Writer;
  readonly #reader = new Reader();
  readonly #encoder = new Encoder(this.references);
  readonly #decoder = new Decoder(this.references);
  /** How this side waits for answers. */
  readonly #policy: WaitPolicy;
  readonly #lookout: Lookout;
  /** Absent where this side cannot block. */
  readonly #blocking: Blocking | undefined;
  readonly #pending = new IdMap<Pending>();
  /**
   * Calls of the other side that have not been answered. Their arguments are kept until then: a signal
   * that only its listeners know would be collected, and with it the news that it is aborted.
   */
  readonly #working = new IdMap<readonly unknown[]>();
  /** What the other side exposes, by number. */
  #names: readonly string[] = [];
  #ids = 0;
  #writing = false;
  /** The frame that is open waits for a value that travels by message. */
  #paused = false;
  #kept = false;
  /** Whether this turn has called a function that returned a promise. */
  #opened = false;
  /** Whether this turn has answered somebody who may have the next call ready at once. */
  #looks = false;
  #wakeSoon = false;
  /** The event loop will be woken when there is something to read. */
  #sleeping = false;
  /** Somebody else looks for frames, by {@link pumpIfReady}. */
  #watched = false;
  /** The ring's promise for that is pending; it outlives a blocking call. */
  #armed = false;
  #pumping = false;
  #waitsForRoom = false;
  #closed: BridgeClosedError | undefined;
  /** How often it has begun to handle frames: what comes with the same number has come together. */
  batches = 0;

  constructor(options: SideOptions) {
    this.#options = options;
    this.#out = options.writer;
    this.#in = options.reader;
    this.#writer = new Writer(options.limit);
    this.#errorWriter = new Writer(Math.max(options.limit, leastForErrors));
    const { control, ringReader, spin } = options;
    const canLook = spin && control !== undefined && ringReader !== undefined;
    this.#policy = new WaitPolicy(canLook, ({ linger }) => control?.linger(linger));
    this.#lookout = new Lookout(this.#policy, () => this.#pending.size > 0);
    this.#lookout.add(this);
    this.#blocking = this.#makeBlocking();
  }

  #makeBlocking(): Blocking | undefined {
    const { ringReader, ringWriter, control, patience, cannotBlock } = this.#options;
    if (cannotBlock !== undefined || !ringReader || !control) return undefined;
    const side: Blockable = {
      handleNext: () => this.#handleNext(),
      isPaused: () => this.#paused,
      deliver: () => this.deliver(),
      note: (kind, first, second) => this.#note(kind, first, second),
      refuse: (id, error) => {
        if (this.#working.delete(id)) this.fail(id, error);
      },
      nameOf: (target) => this.#nameOf(target),
      checkOpen: (name) => {
        if (control.isClosed) this.close('the other side has closed the bridge');
        if (this.#closed) throw this.#ended(name());
      },
      leaveEventLoop: () => {
        if (this.#sleeping) ringReader.awake();
      },
      returnToEventLoop: () => {
        if (this.#sleeping && !ringReader.sleepOn()) queueMicrotask(() => this.pump());
        // Whoever waited for room may have been woken in place of the event loop.
        if (ringWriter !== undefined && ringWriter.queued > 0) {
          this.#waitsForRoom = false;
          this.deliver();
        }
      },
    };
    const policy = this.#policy;
    return new Blocking(side, { ringReader, ringWriter, control, patience, policy });
  }

  /** The other side exposes these. */
  meet(names: readonly string[]): void {
    this.#keepAlive();
    this.#names = names;
  }

  /** What the other side exposes. */
  get names(): readonly string[] {
    return this.#names;
  }

  get closed(): BridgeClosedError | undefined {
    return this.#closed;
  }

  // --- calls ---

  call(target: number, args: readonly unknown[], options: CallOptions = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const { signal, timeout } = options;
      signal?.throwIfAborted();
      const name = this.#nameOf(target);
      const id = this.#nextId();
      this.#writeCall(CALL, id, target, args);
      if (signal === undefined && timeout === undefined) {
        this.#expect(id, { name, resolve, reject });
        this.#lookout.expect();
        return;
      }
      let timer: ReturnType<typeof setTimeout> | undefined;
      const settle = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
      };
      const giveUp = (reason: unknown) => {
        if (!this.#pending.delete(id)) return;
        settle();
        this.#note(CANCEL, id, 0);
        this.#keepAlive();
        reject(reason);
      };
      const abort = () => giveUp(signal?.reason);
      signal?.addEventListener('abort', abort);
      if (timeout !== undefined) {
        timer = setTimeout(() => giveUp(timedOut(name, timeout)), timeout);
      }
      this.#expect(id, {
        name,
        resolve: (value) => {
          settle();
          resolve(value);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      });
      this.#lookout.expect();
    });
  }

  #expect(id: number, pending: Pending): void {
    this.#pending.set(id, pending);
    this.#keepAlive();
    this.#wake();
    this.attend();
  }

  // --- tasks ---

  /** Hands over a task: a call that the other side carries out when its turn has come. Returns its number. */
  submit(target: number, args: readonly unknown[], pending: Pending): number {
    const id = this.#nextId();
    this.#writeCall(TASK, id, target, args, pending.name);
    this.#expect(id, pending);
    return id;
  }

  /** Nobody waits for this answer any more. The other side learns nothing of it. */
  forget(id: number): void {
    this.#pending.delete(id);
  }

  /** Asks that a task stop. */
  stop(id: number, reason: unknown): void {
    if (this.#closed) return;
    // Within the writing of another frame it waits for its turn.
    if (this.#writing) queueMicrotask(() => this.stop(id, reason));
    else this.#writeError(STOP, id, reason);
    this.#wake();
  }

  /** Says that a task is over which has been answered before. */
  ended(id: number): void {
    this.#note(ENDED, id, 0);
  }

  /** As long as an answer is due, or the other side may call, this thread must not end by itself. */
  #keepAlive(): void {
    const { functions, tasks, keepAlive } = this.#options;
    const serves = functions.length > 0 || tasks !== undefined;
    const busy = serves || this.#pending.size + this.references.size > 0;
    if ((busy && !this.#closed) === this.#kept) return;
    this.#kept = !this.#kept;
    keepAlive(this.#kept);
  }

  send(target: number, args: readonly unknown[]): void {
    this.#writeCall(SEND, 0, target, args);
    this.#wake();
  }

  /** Blocks until the answer is there. */
  block(target: number, args: readonly unknown[], options?: CallOptions): unknown {
    options?.signal?.throwIfAborted();
    const blocking = this.#blocking ?? this.#cannotBlock(this.#nameOf(target));
    const id = this.#nextId();
    const waiting = blocking.begin(id, 1, target);
    try {
      this.#writeCall(BLOCKING_CALL, id, target, args);
      blocking.run(waiting, options);
    } finally {
      blocking.end(waiting);
    }
    const [value] = waiting.values;
    if (waiting.failed >= 0) throw withCaller(value);
    return value;
  }

  /** Sends all calls at once and blocks until all answers are there. */
  blockForAll(
    calls: readonly { readonly target: number; readonly args: readonly unknown[] }[],
    options?: CallOptions,
  ): unknown[] {
    if (calls.length === 0) return [];
    options?.signal?.throwIfAborted();
    const blocking = this.#blocking ?? this.#cannotBlock('batch');
    const waiting = blocking.begin(this.#nextId(calls.length), 0, calls);
    try {
      for (const { target, args } of calls) {
        this.#writeCall(BLOCKING_CALL, waiting.from + waiting.count, target, args);
        waiting.count++;
        waiting.left++;
      }
      blocking.run(waiting, options);
    } catch (error) {
      // Nobody waits for those that have gone before.
      for (let i = 0; i < waiting.count; i++) this.#note(CANCEL, waiting.from + i, 0);
      throw error;
    } finally {
      blocking.end(waiting);
    }
    if (waiting.failed >= 0) throw withCaller(waiting.values[waiting.failed]);
    return waiting.values;
  }

  #cannotBlock(name: string): never {
    throw new BridgeStateError(`${name}() cannot block: ${this.#options.cannotBlock}`, name);
  }

  // --- references (Calls) ---

  callReference(id: number, args: readonly unknown[], name: string): Promise<unknown> {
    if (this.#closed) return Promise.reject(this.#ended(name));
    return this.call(REFERENCE + id, args);
  }

  blockOnReference(id: number, args: readonly unknown[]): unknown {
    return this.block(REFERENCE + id, args);
  }

  release(id: number, count: number): void {
    if (!this.#closed) this.#note(RELEASE, id, count);
  }

  abort(id: number, reason: unknown): void {
    if (this.#closed) return;
    // Within the writing of another frame it waits for its turn.
    if (this.#writing) queueMicrotask(() => this.abort(id, reason));
    else this.#writeError(ABORT, id, reason);
    this.#wake();
  }

  // --- writing ---

  #nameOf(target: number): string {
    return target >= REFERENCE ? 'a callback' : (this.#names[target] as string);
  }

  #nextId(count = 1): number {
    let id = this.#ids + 1;
    // After a billion calls they begin anew; one of the first may still be waiting.
    while (this.#pending.has(id)) id++;
    this.#ids = id + count > 0x3fffffff ? 0 : id + count - 1;
    return id;
  }

  #writeCall(
    kind: number,
    id: number,
    target: number,
    args: readonly unknown[],
    name = this.#nameOf(target),
  ): void {
    if (this.#closed) throw this.#ended(name);
    const writer = this.#begin(name, this.#writer);
    try {
      const { length } = args;
      writer.varint(length);
      for (let i = 0; i < length; i++) {
        this.#encoder.encode(writer, this.#lighten(kind, args[i]));
      }
      this.#move();
    } catch (error) {
      throw this.#abandon(error, name);
    }
    this.#end(writer, kind, id, target);
  }

  /**
   * Many bytes are copied once and handed over, instead of into the ring and out of it. Not where a thread
   * blocks, which takes longer to get at a message: 256 kB to such a one took 0.1 ms against 0.05 (Node 20),
   * to a pool's thread and back 0.08 against 0.24.
   */
  #lighten(kind: number, value: unknown): unknown {
    if (kind === BLOCKING_CALL || !platform.movesBytes) return value;
    if (!(value instanceof Uint8Array) || value.byteLength < heavy) return value;
    // Too many are refused where they are written.
    if (value.byteLength > this.#options.limit) return value;
    const copy = new Uint8Array(value);
    return transferCopy(copy, [copy.buffer]);
  }

  #begin(name: string, writer: Writer): Writer {
    if (this.#writing) {
      throw new BridgeStateError(`${name}() is called while another call is being encoded`, name);
    }
    this.#out.begin(writer);
    this.#writing = true;
    return writer;
  }

  #abandon(error: unknown, name: string): unknown {
    this.#writing = false;
    this.#encoder.abandon();
    this.references.undo();
    if (error instanceof MessageTooLargeError) {
      const { limit } = this.#options;
      const message = `${name}() has more than ${limit} bytes to pass on, the limit of this bridge`;
      return Object.assign(new RangeError(message, { cause: error }), { call: name });
    }
    const isOurs = error instanceof DataCloneError || error instanceof TypeError;
    return isOurs ? Object.assign(error, { call: name }) : error;
  }

  /**
   * Posts what the frame moves: all or nothing, and before the frame is there, so that a reader who
   * finds it need not wait long.
   */
  #move(): void {
    const { moving } = this.references;
    if (moving.length === 0) return;
    const values = moving.map(({ value }) => value);
    const list = moving.flatMap(({ list }) => list);
    this.#options.post('values', values, list);
  }

  #end(writer: Writer, kind: number, first: number, second: number): void {
    this.#writing = false;
    const { length } = this.references.moving;
    this.#out.end(writer, kind | (length << MOVED), first, second);
    this.references.sent();
    this.#keepAlive();
  }

  /** A frame without a payload. */
  #note(kind: number, first: number, second: number): void {
    if (this.#closed) return;
    if (this.#writing) {
      queueMicrotask(() => this.#note(kind, first, second));
      return;
    }
    this.#out.begin(this.#writer);
    this.#out.end(this.#writer, kind, first, second);
    this.#wake();
  }

  #writeError(kind: number, first: number, error: unknown): void {
    const writer = this.#begin('an error', this.#errorWriter);
    try {
      this.#encoder.encode(writer, error);
      this.#move();
    } catch {
      this.#encoder.abandon();
      this.references.undo();
      this.#out.begin(writer);
      this.#encoder.encode(writer, toPlainError(error));
    }
    this.#end(writer, kind, first, 0);
  }

  /** Wakes the other side once for all that is written in this turn. */
  #wake(): void {
    if (this.#wakeSoon) return;
    this.#wakeSoon = true;
    queueMicrotask(() => {
      this.#wakeSoon = false;
      this.deliver();
    });
  }

  /** Sends what was written, as far as there is room, and sees that the rest follows. */
  deliver(): void {
    const taken = this.#options.ringWriter?.taken ?? 0;
    const all = this.#out.flush();
    this.#out.wake();
    if (all) return;
    const ring = this.#options.ringWriter;
    if (ring === undefined || this.#waitsForRoom) return;
    this.#waitsForRoom = true;
    void ring.roomLater(taken).then(() => this.roomCame());
  }

  /** The other side has taken something, so that there may be room. */
  roomCame(): void {
    this.#waitsForRoom = false;
    if (!this.#closed) this.deliver();
  }

  // --- reading ---

  /** Asks the other side to look for the next call so many microseconds before it sleeps. */
  linger(microseconds: number): void {
    this.#options.control?.linger(microseconds);
  }

  get watched(): boolean {
    return this.#watched;
  }

  /** Whether somebody else looks for frames. Whoever ends that has to {@link attend}. */
  set watched(watched: boolean) {
    this.#watched = watched;
    if (!watched || !this.#sleeping) return;
    this.#sleeping = false;
    this.#options.ringReader?.awake();
  }

  /** Handles the frames that have come; whether there were any. */
  pumpIfReady(): boolean {
    if (!this.#in.ready || this.#closed) return false;
    this.pump();
    return !this.#paused;
  }

  /** Sees that frames are handled whenever this thread returns to its event loop. */
  attend(): void {
    const ring = this.#options.ringReader;
    if (this.#sleeping || this.#pumping || this.#closed || this.#watched) return;
    if (ring === undefined) return;
    if (this.#armed) {
      if (ring.sleepOn()) this.#sleeping = true;
      else queueMicrotask(() => this.pump());
      return;
    }
    const later = ring.later();
    if (later === undefined) {
      queueMicrotask(() => this.pump());
      return;
    }
    this.#sleeping = true;
    this.#armed = true;
    void later.then(() => {
      this.#armed = false;
      this.pump();
    });
  }

  /** Frames have come, or may have. */
  pump(): void {
    this.#sleeping = false;
    if (this.#pumping || this.#closed) return;
    this.#pumping = true;
    this.#options.ringReader?.awake();
    let spent = false;
    try {
      spent = this.#handleAll();
    } finally {
      this.#pumping = false;
      // Where values are received and not listened for, nothing tells that a late one has come.
      const looksAgain = this.#paused ? this.#options.receive !== undefined : spent;
      if (this.#closed) {
        // Nothing will come.
      } else if (looksAgain) {
        soon(() => this.pump());
      } else if (!this.#paused) {
        this.attend();
      }
    }
  }

  /** Handles all that there is, before the bridge is closed. */
  drain(): void {
    while (!this.#closed && this.#handleNext()) {}
  }

  /**
   * Handles what there is and, for as long as the caller has asked for, what comes. Whether its turn is
   * over. A single call, the commonest case, reads no clock: that takes 0.3 us in a browser.
   */
  #handleAll(): boolean {
    const ring = this.#options.ringReader;
    let end = 0;
    let told = 0;
    let handled = 0;
    this.#opened = false;
    this.#looks = false;
    for (;;) {
      this.batches++;
      while (this.#handleNext()) {
        const asleep = this.#options.ringWriter?.readerAsleep;
        if ((!asleep && (++handled & 3) !== 0) || !this.#in.ready) continue;
        const now = performance.now();
        end ||= now + TURN;
        told ||= now;
        if (asleep && now - told > PROMPT) {
          this.deliver();
          told = now;
        }
        if (now > end) {
          this.deliver();
          return true;
        }
      }
      this.deliver();
      if (!this.#looks || this.#closed || this.#paused || ring === undefined) return false;
      const linger = this.#options.control?.lingering ?? 0;
      if (linger === 0) return false;
      // Promises do not settle while this thread looks for more; they come back here when they have.
      if (this.#waitsForRoom || this.#opened) return false;
      const now = performance.now();
      end ||= now + TURN;
      if (now > end) return true;
      if (!lookFor(ring, now + linger / 1_000)) return false;
    }
  }

  /** Handles one frame; false if there is none, or its values have not all come. */
  #handleNext(): boolean {
    if (!this.#paused && !this.#in.next(this.#reader)) return false;
    const kind = this.#in.kind & KIND;
    const moved = this.#in.kind >>> MOVED;
    if (moved > 0) {
      while (this.references.arrivals < moved) {
        if (this.#options.receive?.()) continue;
        this.#paused = true;
        return false;
      }
    }
    this.#paused = false;
    const { first, second } = this.#in;
    switch (kind) {
      case CALL:
      case BLOCKING_CALL:
      case SEND:
        this.#serve(kind, first, second);
        break;
      case RESULT:
        this.#answered(first, this.#readValue(), false);
        break;
      case FAILED:
        this.#answered(first, this.#readValue(), true);
        break;
      case ABORT:
        this.references.abort(first, this.#readValue());
        break;
      case TASK: {
        const args = this.#readArguments();
        this.#looks = true;
        if (args !== undefined) this.#options.tasks?.take(first, second, args);
        break;
      }
      case STOP:
        this.#options.tasks?.stop(first, this.#readValue());
        break;
      default:
        this.#in.release();
        if (kind === CANCEL) this.#working.delete(first);
        else if (kind === RELEASE) {
          this.references.released(first, second);
          this.#keepAlive();
        } else if (kind === ENDED) this.#options.tasks?.ended(first);
        else if (kind === PING) this.#note(PONG, first, 0);
        else if (kind === PONG) this.#blocking?.ponged(first);
    }
    return true;
  }

  #readArguments(): readonly unknown[] | undefined {
    try {
      const args: unknown[] = [];
      for (let left = this.#reader.varint(); left > 0; left--) {
        args.push(this.#decoder.decode(this.#reader));
      }
      return args;
    } catch (error) {
      this.#break(error);
    } finally {
      this.#release();
    }
  }

  #readValue(): unknown {
    try {
      return this.#decoder.decode(this.#reader);
    } catch (error) {
      this.#break(error);
    } finally {
      this.#release();
    }
  }

  #release(): void {
    this.references.received();
    this.#in.release();
  }

  /** A frame that cannot be read ends the bridge: what it should have taught the codec is missing. */
  #break(error: unknown): void {
    const said = error instanceof Error ? error.message : String(error);
    this.#options.broken(`a message cannot be read: ${said}`);
  }

  #answered(id: number, value: unknown, failed: boolean): void {
    if (this.#blocking?.answered(id, value, failed)) return;
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    this.#keepAlive();
    if (failed) pending.reject(value);
    else pending.resolve(value);
  }

  #serve(kind: number, id: number, target: number): void {
    const args = this.#readArguments();
    if (args === undefined) return;
    let result: unknown;
    let settlesLater = false;
    try {
      const call =
        target >= REFERENCE
          ? this.references.callable(target - REFERENCE)
          : this.#options.functions[target]?.call;
      if (call === undefined) throw new BridgeStateError('the function is gone', 'a callback');
      result = call(...args);
      settlesLater = isThenable(result);
    } catch (error) {
      // As from a listener: the caller has asked for no answer.
      if (kind === SEND) void Promise.reject(error);
      else this.fail(id, error);
      return;
    }
    if (!settlesLater) {
      if (kind !== SEND) this.#looks = true;
      if (kind !== SEND) this.#respond(kind, id, target, result);
      return;
    }
    if (kind === SEND) return;
    this.#working.set(id, args);
    if (this.#blocking?.isBlocked) this.#blocking.postpone(id, this.#servedName(target));
    this.#opened = true;
    // One that is no native promise may throw where it is asked.
    Promise.resolve(result).then(
      (value) => {
        if (!this.#working.delete(id) || this.#closed) return;
        this.#respond(kind, id, target, value);
        this.answeredLater();
      },
      (error) => {
        if (!this.#working.delete(id) || this.#closed) return;
        this.fail(id, error);
        this.answeredLater();
      },
    );
  }

  /** An answer was given in a turn of its own. Whoever has it may have the next call ready at once. */
  answeredLater(): void {
    this.#wake();
    if ((this.#options.control?.lingering ?? 0) > 0) queueMicrotask(() => this.pump());
  }

  #servedName(target: number): string {
    return this.#options.functions[target]?.name ?? 'a callback';
  }

  /** Answers a task. */
  answer(id: number, target: number, result: unknown): void {
    this.#respond(TASK, id, target, result);
  }

  #respond(kind: number, id: number, target: number, result: unknown): void {
    if (this.#closed) return;
    let value = result;
    // No message reaches a thread that blocks.
    const outOfReach = kind === BLOCKING_CALL && !this.#options.otherReceives;
    if (outOfReach && isTransferred(value)) ({ value } = value);
    const name = this.#servedName(target);
    const writer = this.#begin(name, this.#writer);
    this.references.reachable = !outOfReach;
    try {
      this.#encoder.encode(writer, this.#lighten(kind, value));
      if (outOfReach && this.references.moving.length > 0) {
        throw new BridgeStateError(
          `${name}() hands over a part of its result, which does not reach a thread that blocks: call it by async`,
          name,
        );
      }
      this.#move();
    } catch (error) {
      this.fail(id, this.#abandon(error, name));
      return;
    } finally {
      this.references.reachable = true;
    }
    this.#end(writer, RESULT, id, target);
  }

  /** Answers that a call, or a task, has failed. */
  fail(id: number, error: unknown): void {
    if (!this.#closed) this.#writeError(FAILED, id, error);
  }

  // --- the end ---

  #ended(name: string): BridgeClosedError {
    return new BridgeClosedError(
      `${name}() has no answer: ${this.#closed?.message ?? 'the bridge is closed'}`,
      name,
    );
  }

  /** Ends all calls. `reason` says what has happened. */
  close(reason: string): void {
    if (this.#closed) return;
    this.#closed = new BridgeClosedError(reason, '');
    this.#options.control?.close();
    for (const id of this.#pending.ids()) {
      // One that learns of it may give up others.
      const pending = this.#pending.get(id);
      this.#pending.delete(id);
      pending?.reject(this.#ended(pending.name));
    }
    this.#working.clear();
    this.references.close();
    this.#options.ringWriter?.stop();
    this.#options.ringReader?.stop();
    this.#keepAlive();
  }
}
