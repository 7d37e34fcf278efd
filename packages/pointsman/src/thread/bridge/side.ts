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

import { invalid, TimeoutError } from '../../task/errors.js';
import type { Codec, Decoder, Encoder } from '../memory/codec/codec.js';
import { structured } from '../memory/codec/structured.js';
import { readValue, writeValue } from '../memory/codec/value.js';
import { Reader } from '../memory/reader.js';
import type { RingReader, RingWriter } from '../memory/ring.js';
import { WaitPolicy } from '../memory/wait-policy.js';
import { MessageTooLargeError, Writer } from '../memory/writer.js';
import type { Control } from './control.js';
import { BridgeClosedError, BridgeStateError, DeadlockError, UnresponsiveError } from './errors.js';
import {
  ABORT,
  BLOCKING_CALL,
  CALL,
  CANCEL,
  FAILED,
  KIND,
  MOVED,
  PING,
  PONG,
  REFERENCE,
  RELEASE,
  RESULT,
  SEND,
} from './frames.js';
import type { FrameReader, FrameWriter } from './links.js';
import { type Calls, References } from './references.js';
import type { CompiledCall } from './schemas.js';
import { isTransferred } from './transfer.js';

export type AnyFunction = (...args: unknown[]) => unknown;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds. */
  readonly timeout?: number | undefined;
}

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
  readonly codec: Codec;
  readonly limit: number;
  readonly patience: number;
  readonly spin: boolean;
  /** What this side exposes, by number, and the schemas of its functions. */
  readonly functions: readonly { readonly name: string; readonly call: AnyFunction }[];
  readonly schemas: ReadonlyMap<string, CompiledCall>;
  post(type: string, payload: unknown, transfer: readonly Transferable[]): void;
  /** The next message that has come, without a return to the event loop. */
  receive?: (() => boolean) | undefined;
  /** Whether something is under way that must not end with the event loop. */
  keepAlive(busy: boolean): void;
}

/** A blocking call, or several that were sent together, and those who wait further out. */
interface Waiting {
  from: number;
  count: number;
  left: number;
  values: unknown[];
  /** The place of the first that has failed, or -1. */
  failed: number;
  /** Which function it calls, or several in a batch. */
  readonly targets: number | readonly { readonly target: number }[];
  readonly outer: Waiting | undefined;
  /** When it was first about to sleep, or 0: until then no clock is read. */
  began: number;
  /** When the other side has last shown that it is alive, or 0 if that is now. */
  heard: number;
}

interface Stuck {
  readonly id: number;
  readonly name: string;
  readonly since: number;
}

interface Pending {
  readonly name: string;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Milliseconds that a side works through frames before others of its thread get their turn. */
const TURN = 4;
/** A sleeper is told of an answer before the others are ready after so many milliseconds. */
const SOON = 0.2;
/** Milliseconds between two looks at the other side's state while it owes an answer. */
const SLICE = 250;

/** All sides of this thread: who blocks for one of them keeps the others waiting. */
const sides = new Set<Side>();

const pause: (() => void) | undefined = (Atomics as { pause?: () => void }).pause;

export class Side implements Calls {
  readonly references = new References(this);
  readonly #options: SideOptions;
  readonly #out: FrameWriter;
  readonly #in: FrameReader;
  readonly #writer: Writer;
  readonly #reader = new Reader();
  readonly #encoder: Encoder;
  readonly #decoder: Decoder;
  /** Errors travel in full, whatever the codec makes of them. */
  readonly #errorEncoder: Encoder;
  readonly #errorDecoder: Decoder;
  readonly #policy: WaitPolicy;
  readonly #pending = new Map<number, Pending>();
  /** Calls of the other side that have not been answered. */
  readonly #working = new Set<number>();
  /** Those of them that came while this thread was blocked, and cannot go on before it is not. */
  #stuck: Stuck[] = [];
  /** What the other side exposes, by number. */
  #names: readonly string[] = [];
  #schemas: readonly (CompiledCall | undefined)[] = [];
  readonly #mine: readonly (CompiledCall | undefined)[];
  #waiting: Waiting | undefined;
  #ids = 0;
  #writing = false;
  /** The frame that is open waits for a value that travels by message. */
  #paused = false;
  #kept = false;
  #wakeSoon = false;
  /** The event loop will be woken when there is something to read. */
  #sleeping = false;
  /** The ring's promise for that is pending; it outlives a blocking call. */
  #armed = false;
  #pumping = false;
  #waitsForRoom = false;
  #pinged = 0;
  #ponged = 0;
  #closed: BridgeClosedError | undefined;

  constructor(options: SideOptions) {
    this.#options = options;
    this.#out = options.writer;
    this.#in = options.reader;
    this.#writer = new Writer(options.limit);
    this.#encoder = options.codec.encoder(this.references);
    this.#decoder = options.codec.decoder(this.references);
    const errors = structured();
    this.#errorEncoder = errors.encoder(this.references);
    this.#errorDecoder = errors.decoder(this.references);
    this.#mine = options.functions.map(({ name }) => options.schemas.get(name));
    const { control } = options;
    this.#policy = new WaitPolicy(options.spin && control !== undefined, ({ linger }) =>
      control?.linger(linger),
    );
    sides.add(this);
  }

  /** What the other side exposes. */
  meet(names: readonly string[]): void {
    this.#keepAlive();
    this.#names = names;
    this.#schemas = names.map((name) => this.#options.schemas.get(name));
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
    });
  }

  #expect(id: number, pending: Pending): void {
    this.#pending.set(id, pending);
    this.#keepAlive();
    this.#wake();
    this.attend();
  }

  /** As long as an answer is due, or the other side may call, this thread must not end by itself. */
  #keepAlive(): void {
    const { functions, keepAlive } = this.#options;
    const busy = functions.length + this.#pending.size + this.references.size > 0;
    if (busy === this.#kept) return;
    this.#kept = busy && !this.#closed;
    keepAlive(this.#kept);
  }

  send(target: number, args: readonly unknown[]): void {
    this.#writeCall(SEND, 0, target, args);
    this.#wake();
  }

  /** Blocks until the answer is there. */
  block(target: number, args: readonly unknown[], options?: CallOptions): unknown {
    options?.signal?.throwIfAborted();
    const from = this.#nextId();
    const waiting = this.#wait(from, 1, target);
    try {
      this.#writeCall(BLOCKING_CALL, from, target, args);
      this.#blockFor(waiting, options);
    } finally {
      this.#waiting = waiting.outer;
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
    const waiting = this.#wait(this.#nextId(calls.length), 0, calls);
    try {
      for (const { target, args } of calls) {
        // Counted first: one that has failed must not wait for the answer of another.
        this.#writeCall(BLOCKING_CALL, waiting.from + waiting.count, target, args);
        waiting.count++;
        waiting.left++;
      }
      this.#blockFor(waiting, options);
    } finally {
      this.#waiting = waiting.outer;
    }
    if (waiting.failed >= 0) throw withCaller(waiting.values[waiting.failed]);
    return waiting.values;
  }

  #wait(from: number, count: number, targets: Waiting['targets']): Waiting {
    const why = this.#options.cannotBlock;
    if (why !== undefined) {
      const name = this.#nameOfAll(targets);
      throw new BridgeStateError(`${name}() cannot block: ${why}`, name);
    }
    const outer = this.#waiting;
    const waiting: Waiting = {
      from,
      count,
      left: count,
      values: [],
      failed: -1,
      targets,
      outer,
      began: 0,
      heard: 0,
    };
    this.#waiting = waiting;
    return waiting;
  }

  #nameOfAll(targets: Waiting['targets']): string {
    if (typeof targets === 'number') return this.#nameOf(targets);
    const names = new Set(targets.map(({ target }) => this.#nameOf(target)));
    return `batch of ${[...names].join(', ')}`;
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
    const id = this.#ids + 1;
    // Far from the end of the numbers that a frame can carry, with room for any batch.
    this.#ids = id + count - 1 > 0x3fffffff ? 0 : id + count - 1;
    return id;
  }

  #writeCall(kind: number, id: number, target: number, args: readonly unknown[]): void {
    if (this.#closed) throw this.#ended(this.#nameOf(target));
    const writer = this.#begin(this.#nameOf(target));
    try {
      const schema = target >= REFERENCE ? undefined : this.#schemas[target]?.arguments;
      if (schema) {
        schema.write(writer, args);
      } else {
        const { length } = args;
        writer.varint(length);
        for (let i = 0; i < length; i++) {
          writeValue(writer, args[i], this.#encoder, this.references);
        }
      }
    } catch (error) {
      throw this.#abandon(error, this.#nameOf(target));
    }
    this.#end(kind, id, target);
  }

  #begin(name: string): Writer {
    if (this.#writing) {
      throw new BridgeStateError(`${name}() is called while another call is being encoded`, name);
    }
    const writer = this.#writer;
    this.#out.begin(writer);
    this.#writing = true;
    return writer;
  }

  #abandon(error: unknown, name: string): unknown {
    this.#writing = false;
    this.#encoder.abandon?.();
    this.references.undo();
    if (!(error instanceof MessageTooLargeError)) return error;
    const { limit } = this.#options;
    const message = `${name}() has more than ${limit} bytes to pass on, the limit of this bridge`;
    return Object.assign(new RangeError(message, { cause: error }), { call: name });
  }

  #end(kind: number, first: number, second: number): void {
    this.#writing = false;
    const moving = this.references.moving();
    // Before the frame is there, so that a reader who finds it need not wait long.
    for (const { value, list } of moving) this.#options.post('value', value, list);
    this.#out.end(this.#writer, kind | (moving.length << MOVED), first, second);
    this.references.sent();
    this.#keepAlive();
  }

  /** A frame without a payload. */
  #note(kind: number, first: number, second: number): void {
    if (this.#writing) {
      queueMicrotask(() => this.#note(kind, first, second));
      return;
    }
    if (this.#closed) return;
    this.#out.begin(this.#writer);
    this.#out.end(this.#writer, kind, first, second);
    this.#wake();
  }

  #writeError(kind: number, first: number, error: unknown): void {
    const writer = this.#begin('an error');
    try {
      writeValue(writer, error, this.#errorEncoder, this.references);
    } catch {
      this.#errorEncoder.abandon?.();
      this.references.undo();
      this.#out.begin(writer);
      writeValue(writer, bare(error), this.#errorEncoder, this.references);
    }
    this.#end(kind, first, 0);
  }

  /** Wakes the other side once for all that is written in this turn. */
  #wake(): void {
    if (this.#wakeSoon) return;
    this.#wakeSoon = true;
    queueMicrotask(() => {
      this.#wakeSoon = false;
      this.#deliver();
    });
  }

  #deliver(): void {
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
    if (!this.#closed) this.#deliver();
  }

  // --- reading ---

  /** Sees that frames are handled whenever this thread returns to its event loop. */
  attend(): void {
    const ring = this.#options.ringReader;
    if (this.#sleeping || this.#pumping || this.#closed || ring === undefined) return;
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
    const ring = this.#options.ringReader;
    ring?.awake();
    const began = performance.now();
    const spent = this.#handleAll(began + TURN);
    this.#pumping = false;
    if (this.#closed || this.#paused) return;
    if (spent) soon(() => this.pump());
    else this.attend();
  }

  /** Handles what there is and, for as long as the caller has asked for, what comes. Whether its turn is over. */
  #handleAll(end: number): boolean {
    const ring = this.#options.ringReader;
    let told = end - TURN;
    let handled = 0;
    for (;;) {
      while (this.#handleNext()) {
        const asleep = this.#options.ringWriter?.readerAsleep;
        if (!asleep && (++handled & 3) !== 0) continue;
        const now = performance.now();
        if (asleep && now - told > SOON) {
          this.#deliver();
          told = now;
        }
        if (now > end) {
          this.#deliver();
          return true;
        }
      }
      this.#deliver();
      const linger = this.#options.control?.lingering ?? 0;
      if (this.#closed || this.#paused || linger === 0 || ring === undefined) return false;
      if (this.#waitsForRoom) return false;
      const now = performance.now();
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
        this.#answered(first, this.#readResult(second), false);
        break;
      case FAILED:
        this.#answered(first, this.#readError(), true);
        break;
      case ABORT:
        this.references.abort(first, this.#readError());
        break;
      default:
        this.#in.release();
        if (kind === CANCEL) this.#working.delete(first);
        else if (kind === RELEASE) {
          this.references.released(first, second);
          this.#keepAlive();
        } else if (kind === PING) this.#note(PONG, first, 0);
        else if (kind === PONG) this.#ponged = first;
    }
    return true;
  }

  #readArguments(target: number): readonly unknown[] {
    const reader = this.#reader;
    const schema = target >= REFERENCE ? undefined : this.#mine[target]?.arguments;
    if (schema) return schema.read(reader);
    const count = reader.varint();
    const args: unknown[] = [];
    for (let i = 0; i < count; i++) {
      args.push(readValue(reader, this.#decoder, this.references));
    }
    return args;
  }

  #readResult(target: number): unknown {
    const reader = this.#reader;
    const schema = target >= REFERENCE ? undefined : this.#schemas[target]?.result;
    const value = schema ? schema.read(reader) : readValue(reader, this.#decoder, this.references);
    this.references.received();
    this.#in.release();
    return value;
  }

  #readError(): unknown {
    const error = readValue(this.#reader, this.#errorDecoder, this.references);
    this.references.received();
    this.#in.release();
    return error;
  }

  #answered(id: number, value: unknown, failed: boolean): void {
    for (let waiting = this.#waiting; waiting; waiting = waiting.outer) {
      const place = id - waiting.from;
      if (place < 0 || place >= waiting.count) continue;
      waiting.values[place] = value;
      if (failed && (waiting.failed < 0 || place < waiting.failed)) waiting.failed = place;
      waiting.left--;
      return;
    }
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    this.#keepAlive();
    if (failed) pending.reject(value);
    else pending.resolve(value);
  }

  #serve(kind: number, id: number, target: number): void {
    let result: unknown;
    let released = false;
    try {
      const args = this.#readArguments(target);
      this.references.received();
      this.#in.release();
      released = true;
      const call =
        target >= REFERENCE
          ? this.references.callable(target - REFERENCE)
          : this.#options.functions[target]?.call;
      if (call === undefined) throw new BridgeStateError('the function is gone', 'a callback');
      result = call(...args);
    } catch (error) {
      if (!released) this.#in.release();
      // As from a listener: the caller has asked for no answer.
      if (kind === SEND) void Promise.reject(error);
      else this.#fail(id, error);
      return;
    }
    if (!isThenable(result)) {
      if (kind !== SEND) this.#respond(kind, id, target, result);
      return;
    }
    if (kind === SEND) return;
    this.#working.add(id);
    if (this.#waiting) {
      this.#stuck.push({ id, name: this.#servedName(target), since: performance.now() });
    }
    result.then(
      (value) => {
        if (!this.#working.delete(id) || this.#closed) return;
        this.#respond(kind, id, target, value);
        this.#wake();
      },
      (error) => {
        if (!this.#working.delete(id) || this.#closed) return;
        this.#fail(id, error);
        this.#wake();
      },
    );
  }

  #servedName(target: number): string {
    return this.#options.functions[target]?.name ?? 'a callback';
  }

  #respond(kind: number, id: number, target: number, result: unknown): void {
    if (this.#closed) return;
    let value = result;
    // No message reaches a thread that blocks.
    if (kind === BLOCKING_CALL && !this.#options.otherReceives && isTransferred(value)) {
      ({ value } = value);
    }
    const writer = this.#begin(this.#servedName(target));
    try {
      const schema = target >= REFERENCE ? undefined : this.#mine[target]?.result;
      if (schema) schema.write(writer, value);
      else writeValue(writer, value, this.#encoder, this.references);
    } catch (error) {
      this.#fail(id, this.#abandon(error, this.#servedName(target)));
      return;
    }
    this.#end(RESULT, id, target);
  }

  #fail(id: number, error: unknown): void {
    if (!this.#closed) this.#writeError(FAILED, id, error);
  }

  // --- blocking ---

  #blockFor(waiting: Waiting, options: CallOptions | undefined): void {
    const ring = this.#options.ringReader as RingReader;
    const policy = this.#policy;
    policy.begin();
    if (this.#sleeping) ring.awake();
    try {
      this.#deliverAll(waiting, options);
      let polls = 0;
      let until = 0;
      while (waiting.left > 0) {
        if (ring.ready) {
          waiting.heard = 0;
          polls = 0;
          // What a nested call has to say goes at once.
          if (this.#handleNext() && waiting.left > 0) this.#deliver();
          if (this.#paused) throw this.#unreachable(waiting);
          continue;
        }
        const { spin } = policy.current;
        if (spin > 0) {
          pause?.();
          if ((++polls & 31) !== 0) continue;
          const now = performance.now();
          if (polls === 32) until = now + spin / 1_000;
          if (now < until) continue;
        }
        this.#sleep(waiting, ring, options?.timeout);
        polls = 0;
      }
    } finally {
      policy.end();
      if (waiting.outer === undefined) this.#stuck = [];
      if (this.#sleeping && !ring.sleepOn()) queueMicrotask(() => this.pump());
    }
  }

  /** Sends all that has been written, waiting for room. */
  #deliverAll(waiting: Waiting, options: CallOptions | undefined): void {
    const ring = this.#options.ringWriter;
    if (ring === undefined) {
      this.#out.wake();
      return;
    }
    for (;;) {
      const { taken } = ring;
      const all = ring.flush();
      ring.wake();
      if (all) return;
      this.#look(waiting, options?.timeout);
      ring.waitForRoom(taken, SLICE);
      if (ring.taken !== taken) waiting.heard = 0;
    }
  }

  /** Sleeps until there is something to read. */
  #sleep(waiting: Waiting, ring: RingReader, timeout: number | undefined): void {
    const others = sides.size > 1;
    if (others) this.#tellOthers(this.#options.control?.otherThread ?? 0);
    try {
      while (!ring.ready) {
        const left = this.#look(waiting, timeout);
        ring.wait(Math.min(left, SLICE));
      }
    } finally {
      if (others) this.#tellOthers(0);
    }
  }

  /** Those whose calls this thread does not answer meanwhile. */
  #tellOthers(thread: number): void {
    for (const side of sides) if (side !== this) side.#options.control?.waitFor(thread);
  }

  /** Throws if there is no point in sleeping on; how many milliseconds there are left. */
  #look(waiting: Waiting, timeout = Number.POSITIVE_INFINITY): number {
    const { control, patience } = this.#options;
    const now = performance.now();
    waiting.began ||= now;
    waiting.heard ||= now;
    if (this.#closed) throw this.#ended(this.#nameOfAll(waiting.targets));
    if (control?.isClosed) {
      this.close('the other side has closed the bridge');
      throw this.#ended(this.#nameOfAll(waiting.targets));
    }
    if (now - waiting.began >= timeout) {
      for (let id = waiting.from; id < waiting.from + waiting.count; id++)
        this.#note(CANCEL, id, 0);
      this.#out.wake();
      throw timedOut(this.#nameOfAll(waiting.targets), timeout);
    }
    if (control?.otherWaitsForThis) {
      const name = this.#nameOfAll(waiting.targets);
      throw new DeadlockError(
        `${name}() waits for a thread that is blocked by a call to this one`,
        name,
      );
    }
    if (now - waiting.heard > patience) {
      const name = this.#nameOfAll(waiting.targets);
      throw new UnresponsiveError(
        `${name}() got no sign of life from the other thread for ${patience} ms: it is gone, or does not return to its event loop`,
        name,
      );
    }
    if (now - waiting.heard >= SLICE && this.#pinged === this.#ponged) {
      this.#note(PING, ++this.#pinged, 0);
      this.#out.wake();
    }
    this.#failStuck(waiting, now - patience);
    return Math.min(timeout - (now - waiting.began), patience);
  }

  /** Answers calls that came while this thread was blocked and cannot go on: the other may wait for them. */
  #failStuck(waiting: Waiting, before: number): void {
    while (this.#stuck[0] !== undefined && this.#stuck[0].since < before) {
      const { id, name } = this.#stuck.shift() as Stuck;
      if (!this.#working.delete(id)) continue;
      this.#fail(
        id,
        new DeadlockError(
          `${name}() cannot go on: its promise waits for a thread that is blocked in ${this.#nameOfAll(waiting.targets)}()`,
          name,
        ),
      );
      this.#deliver();
    }
  }

  #unreachable(waiting: Waiting): DeadlockError {
    const name = this.#nameOfAll(waiting.targets);
    return new DeadlockError(
      `${name}() cannot go on: the other side hands over a value by message, and no message reaches a thread that is blocked`,
      name,
    );
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
    sides.delete(this);
    this.#options.control?.close();
    for (const { name, reject } of this.#pending.values()) reject(this.#ended(name));
    this.#pending.clear();
    this.#working.clear();
    this.references.close();
    this.#options.ringWriter?.clear();
    this.#options.ringWriter?.wake();
    this.#keepAlive();
  }

  /** What is under way here, for tests of what is left behind. */
  get load(): { readonly pending: number; readonly working: number; readonly references: number } {
    return {
      pending: this.#pending.size,
      working: this.#working.size,
      references: this.references.size,
    };
  }
}

/** Looks for a frame until then, without sleeping. */
function lookFor(ring: RingReader, until: number): boolean {
  for (let polls = 1; ; polls++) {
    if (ring.ready) return true;
    pause?.();
    if ((polls & 15) === 0 && performance.now() >= until) return false;
  }
}

const scope = globalThis as { setImmediate?: (callback: () => void) => unknown };
let turns: MessagePort | undefined;
let waiting: (() => void)[] = [];

/** Runs `callback` in a later turn of the event loop, after what the runtime has to do before. */
function soon(callback: () => void): void {
  if (scope.setImmediate) {
    scope.setImmediate(callback);
    return;
  }
  if (turns === undefined) {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      const now = waiting;
      waiting = [];
      for (const one of now) one();
    };
    turns = port2;
  }
  waiting.push(callback);
  turns.postMessage(0);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { then?: unknown }).then === 'function'
  );
}

function timedOut(name: string, timeout: number): TimeoutError {
  const error = new TimeoutError(`${name}() had no answer within ${timeout} ms`);
  return Object.assign(error, { call: name });
}

/** What is left of an error whose properties cannot be passed on. */
function bare(error: unknown): Error {
  if (!(error instanceof Error))
    return new Error(`something that cannot be passed on: ${typeof error}`);
  const { name, message, stack } = error;
  return Object.assign(new Error(message), { name, stack });
}

/** Adds where the call was made to an error's stack, which tells where it was thrown. */
function withCaller(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const here = new Error().stack?.split('\n').slice(3).join('\n');
  if (here) error.stack = `${error.stack}\n    -- called by --\n${here}`;
  return error;
}

/** Throws unless the options of a call can be used. */
export function checkCallOptions(options: CallOptions): void {
  const { signal, timeout } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalid('signal', signal, 'an AbortSignal');
  }
  if (
    timeout !== undefined &&
    !(typeof timeout === 'number' && timeout >= 0 && timeout < 2 ** 31)
  ) {
    throw invalid('timeout', timeout, 'a number of milliseconds from 0 to 2147483647', 'number');
  }
}
