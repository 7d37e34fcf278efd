/**
 * A single-producer, single-consumer ring buffer: passes frames from one thread to another through shared memory.
 *
 * Invariants:
 * - Only the writer advances TAIL, and only the reader advances HEAD. Both count bytes and never go back. The bytes
 *   between them belong to the reader, all others to the writer, so neither needs a lock.
 * - No wake-up is lost. A thread marks itself asleep and then waits on the word whose change it has not seen; the other
 *   thread changes that word and then checks for a sleeper.
 * - A frame does not exist before it is published, so a writer that dies leaves no partial frame.
 *
 * A frame is a header of four words (payload bytes, kind, two words for the user) and the payload, contiguous and padded
 * to 8 bytes. It starts at the beginning of the memory if it does not fit before the end, and is split into parts if it
 * does not fit at all.
 *
 * A system call is made only if the other side sleeps.
 */

import { Memory } from './memory.js';
import { CorruptMessageError, type Reader } from './reader.js';
import type { Writer } from './writer.js';

/** Words of the control block, each on its own cache line. */
const TAIL = 0;
const HEAD = 16;
const READER = 32;
const WRITER = 48;
export const CONTROL = 256;

/** States in READER and WRITER: awake, asleep at the word, or in an event loop that only a message can wake. */
const AWAKE = 0;
const ASLEEP = 1;
const NEEDS_MESSAGE = 2;

const HEADER = 16;
/** Kind of a frame that fills the rest of the memory. */
const PAD = -1;
/** Added to the kind of each part but the last. */
const MORE = 0x40000000;
/**
 * An empty ring restarts at the beginning of the memory after this many bytes. Small frames then stay in the cache, in
 * the lab's row `one blocking call`, and unused memory is never touched.
 */
const RESTART = 1 << 15;
/** Bytes between two checks for an empty ring: each fetches a cache line, without success in `64 calls in flight`. */
const EMPTY_CHECK_INTERVAL = 1 << 12;

type Async = { async: boolean; value: string | Promise<string> };
const waitAsync = (
  Atomics as { waitAsync?: (words: Int32Array, index: number, value: number) => Async }
).waitAsync;

export interface RingLayout {
  readonly memory: Memory;
  /** Byte offsets, multiples of 64. */
  readonly control: number;
  readonly data: number;
  /** Bytes: a power of two, at least 4096. */
  readonly capacity: number;
}

interface Queued {
  readonly bytes: Uint8Array;
  sent: number;
  readonly kind: number;
  readonly first: number;
  readonly second: number;
}

/**
 * Wakes the thread that sleeps at `word`, if its `state` says so.
 *
 * Only the sleeper changes ASLEEP to AWAKE: it may have woken by itself and be about to sleep again. NEEDS_MESSAGE can
 * be reset here, because the message makes the sleeper check the ring in any case.
 */
function wake(words: Int32Array, state: number, word: number, byMessage: () => void): void {
  const current = Atomics.load(words, state);
  if (current === AWAKE) return;
  if (current === ASLEEP) Atomics.notify(words, word);
  else if (Atomics.compareExchange(words, state, NEEDS_MESSAGE, AWAKE) === NEEDS_MESSAGE)
    byMessage();
}

export class RingWriter {
  readonly #layout: RingLayout;
  readonly #words: Int32Array;
  readonly #control: number;
  readonly #mask: number;
  readonly #wakeByMessage: () => void;
  #tail: number;
  /** HEAD as last read; the actual value may be higher. */
  #head: number;
  #lastEmptyCheck = 0;
  /** Offset of the frame that is being written, or -1 if it is written outside the ring. */
  #frameStart = -1;
  #queue: Queued[] = [];
  /** Whether a frame was published since the reader was last woken or found awake. */
  #wakePending = false;

  /** `wakeByMessage` wakes a reader whose runtime has no `Atomics.waitAsync`. */
  constructor(layout: RingLayout, wakeByMessage: () => void) {
    this.#layout = layout;
    this.#words = layout.memory.i32;
    this.#control = layout.control >> 2;
    this.#mask = layout.capacity - 1;
    this.#wakeByMessage = wakeByMessage;
    this.#tail = Atomics.load(this.#words, this.#control + TAIL);
    this.#head = Atomics.load(this.#words, this.#control + HEAD);
  }

  /** Reads HEAD and returns the number of free bytes. */
  #readFree(): number {
    this.#head = Atomics.load(this.#words, this.#control + HEAD);
    return this.#layout.capacity - ((this.#tail - this.#head) | 0);
  }

  /** Begins a frame: opens `writer` in the ring, or in the writer's own memory if there is no space. */
  begin(writer: Writer): void {
    const { memory, data, capacity } = this.#layout;
    let at = this.#tail & this.#mask;
    if (at > RESTART && ((this.#tail - this.#lastEmptyCheck) | 0) >= EMPTY_CHECK_INTERVAL) {
      this.#lastEmptyCheck = this.#tail;
      if (this.#readFree() === capacity) {
        this.#pad(capacity - at);
        at = 0;
      }
    }
    let free = capacity - ((this.#tail - this.#head) | 0);
    if (free < capacity >> 1) free = this.#readFree();
    const contiguous = Math.min(free, capacity - at);
    if (this.#queue.length > 0 || contiguous <= HEADER) {
      this.#frameStart = -1;
      writer.open(memory, data, data);
      return;
    }
    this.#frameStart = at;
    writer.open(memory, data + at + HEADER, data + at + contiguous);
  }

  /** Publishes the frame. Without enough space, a later {@link flush} publishes the rest. */
  end(writer: Writer, kind: number, first: number, second: number): void {
    const { length } = writer;
    if (this.#frameStart >= 0 && !writer.spilled) {
      this.#publish(this.#frameStart, length, kind, first, second);
      return;
    }
    const bytes = writer.u8.subarray(writer.start, writer.start + length);
    if (this.#queue.length === 0) {
      const queued = { bytes, sent: 0, kind, first, second };
      if (this.#move(queued)) return;
      // The writer reuses its memory for the next message.
      this.#queue.push({ ...queued, bytes: bytes.slice(queued.sent), sent: 0 });
    } else {
      this.#queue.push({ bytes: bytes.slice(), sent: 0, kind, first, second });
    }
  }

  #publish(at: number, length: number, kind: number, first: number, second: number): void {
    const header = (this.#layout.data + at) >> 2;
    const words = this.#words;
    words[header] = length;
    words[header + 1] = kind;
    words[header + 2] = first;
    words[header + 3] = second;
    this.#tail = (this.#tail + HEADER + ((length + 7) & ~7)) | 0;
    this.#wakePending = true;
    Atomics.store(words, this.#control + TAIL, this.#tail);
  }

  #pad(bytes: number): void {
    const header = (this.#layout.data + (this.#tail & this.#mask)) >> 2;
    this.#words[header] = bytes;
    this.#words[header + 1] = PAD;
    this.#tail = (this.#tail + bytes) | 0;
    this.#wakePending = true;
    // Published at once: the next frame may not fit until the reader has skipped the padding.
    Atomics.store(this.#words, this.#control + TAIL, this.#tail);
  }

  /** Moves as much of a frame into the ring as fits. Returns whether all of it is published. */
  #move(queued: Queued): boolean {
    const { memory, data, capacity } = this.#layout;
    for (;;) {
      const left = queued.bytes.length - queued.sent;
      const needed = HEADER + ((left + 7) & ~7);
      const at = this.#tail & this.#mask;
      const free = this.#readFree();
      let contiguous = Math.min(free, capacity - at);
      if (contiguous < needed && contiguous < free) {
        if (free - contiguous >= Math.min(needed, capacity >> 2)) {
          this.#pad(contiguous);
          continue;
        }
      }
      // A part must be worth its header and a wake-up, except the last.
      if (contiguous < Math.min(needed, capacity >> 3)) return false;
      contiguous = Math.min(contiguous, needed);
      // At most a quarter of the capacity: the reader empties one part while the next is written.
      if (needed > contiguous || needed > capacity >> 1) {
        contiguous = Math.min(contiguous, capacity >> 2);
      }
      const length = Math.min(left, contiguous - HEADER);
      const { sent } = queued;
      memory.u8.set(queued.bytes.subarray(sent, sent + length), data + at + HEADER);
      queued.sent = sent + length;
      const last = queued.sent === queued.bytes.length;
      this.#publish(
        at,
        length,
        last ? queued.kind : queued.kind | MORE,
        queued.first,
        queued.second,
      );
      if (last) return true;
      this.wake();
    }
  }

  /** Moves waiting frames into the ring. Returns whether none is left. */
  flush(): boolean {
    while (this.#queue.length > 0) {
      if (!this.#move(this.#queue[0] as Queued)) return false;
      this.#queue.shift();
    }
    return true;
  }

  get queued(): number {
    return this.#queue.length;
  }

  /** Discards waiting frames, ends the wait for space, and wakes the reader. */
  stop(): void {
    this.#queue = [];
    Atomics.notify(this.#words, this.#control + HEAD);
    Atomics.notify(this.#words, this.#control + TAIL);
  }

  get readerAsleep(): boolean {
    return Atomics.load(this.#words, this.#control + READER) !== AWAKE;
  }

  get isWakeDue(): boolean {
    return this.#wakePending && this.readerAsleep;
  }

  wake(): void {
    if (!this.#wakePending) return;
    this.#wakePending = false;
    wake(this.#words, this.#control + READER, this.#control + TAIL, this.#wakeByMessage);
  }

  /** HEAD: advances while the reader is alive and has frames. */
  get consumed(): number {
    return Atomics.load(this.#words, this.#control + HEAD);
  }

  waitForSpace(consumed: number, milliseconds: number): void {
    const writer = this.#control + WRITER;
    // A pending `waitForSpaceAsync` still has to be woken afterwards.
    const previous = Atomics.exchange(this.#words, writer, ASLEEP);
    Atomics.wait(this.#words, this.#control + HEAD, consumed, milliseconds);
    Atomics.store(this.#words, writer, previous);
  }

  /**
   * Resolves when {@link consumed} changes. If the runtime has no `Atomics.waitAsync`, the promise never resolves and the
   * reader sends a message instead.
   */
  async waitForSpaceAsync(consumed: number): Promise<void> {
    const writer = this.#control + WRITER;
    Atomics.store(this.#words, writer, waitAsync ? ASLEEP : NEEDS_MESSAGE);
    if (waitAsync) {
      await waitAsync(this.#words, this.#control + HEAD, consumed).value;
      Atomics.store(this.#words, writer, AWAKE);
    } else if (Atomics.load(this.#words, this.#control + HEAD) === consumed) {
      await new Promise(() => {});
    }
  }
}

export class RingReader {
  readonly #layout: RingLayout;
  readonly #words: Int32Array;
  readonly #control: number;
  readonly #mask: number;
  readonly #wakeByMessage: () => void;
  #head: number;
  /** TAIL as last read. */
  #tail: number;
  #size = 0;
  /** The reassembled parts of a frame. */
  #parts = new Memory(new ArrayBuffer(0));
  #assembled = 0;

  /** The header of the current frame. */
  kind = 0;
  first = 0;
  second = 0;

  /** `wakeByMessage` wakes a writer whose runtime has no `Atomics.waitAsync`. */
  constructor(layout: RingLayout, wakeByMessage: () => void) {
    this.#layout = layout;
    this.#words = layout.memory.i32;
    this.#control = layout.control >> 2;
    this.#mask = layout.capacity - 1;
    this.#wakeByMessage = wakeByMessage;
    this.#head = Atomics.load(this.#words, this.#control + HEAD);
    this.#tail = this.#head;
  }

  /** One atomic load if no frame is ready. */
  get ready(): boolean {
    if (this.#tail !== this.#head) return true;
    this.#tail = Atomics.load(this.#words, this.#control + TAIL);
    return this.#tail !== this.#head;
  }

  /** Opens `reader` at the payload of the next frame, if any. The caller must {@link release} it before the next call. */
  next(reader: Reader): boolean {
    const words = this.#words;
    const { memory, data } = this.#layout;
    while (this.ready) {
      const at = data + (this.#head & this.#mask);
      const header = at >> 2;
      const length = words[header] as number;
      const kind = words[header + 1] as number;
      if (kind === PAD) {
        this.#check(length, length);
        this.#size = length;
        this.release();
        continue;
      }
      this.#size = HEADER + ((length + 7) & ~7);
      this.#check(length, this.#size);
      const start = at + HEADER;
      if ((kind & MORE) !== 0 || this.#assembled > 0) {
        this.#assemble(memory.u8.subarray(start, start + length));
        if ((kind & MORE) !== 0) {
          this.release();
          continue;
        }
        reader.open(this.#parts, 0, this.#assembled);
        this.#assembled = 0;
      } else {
        reader.open(memory, start, start + length);
      }
      this.kind = kind;
      this.first = words[header + 2] as number;
      this.second = words[header + 3] as number;
      return true;
    }
    return false;
  }

  /**
   * Throws if the header is invalid: a frame lies between HEAD and TAIL and before the end of the memory. A frame of
   * size 0 would make the reader loop forever.
   */
  #check(length: number, size: number): void {
    const { capacity } = this.#layout;
    const published = (this.#tail - this.#head) | 0;
    const contiguous = capacity - (this.#head & this.#mask);
    const fits = size <= published && size <= contiguous && published <= capacity;
    if (length < 0 || size < 8 || (size & 7) !== 0 || !fits) {
      throw new CorruptMessageError(`a frame of ${length} bytes is not within the ring`);
    }
  }

  #assemble(part: Uint8Array): void {
    const total = this.#assembled + part.length;
    if (total > this.#parts.u8.length) {
      const grown = new Memory(new ArrayBuffer((2 * total + 7) & ~7));
      grown.u8.set(this.#parts.u8.subarray(0, this.#assembled));
      this.#parts = grown;
    }
    this.#parts.u8.set(part, this.#assembled);
    this.#assembled = total;
  }

  release(): void {
    this.#head = (this.#head + this.#size) | 0;
    Atomics.store(this.#words, this.#control + HEAD, this.#head);
    wake(this.#words, this.#control + WRITER, this.#control + HEAD, this.#wakeByMessage);
    if (this.#assembled === 0 && this.#parts.u8.length > 1 << 22) {
      this.#parts = new Memory(new ArrayBuffer(0));
    }
  }

  wait(milliseconds: number): void {
    const reader = this.#control + READER;
    Atomics.store(this.#words, reader, ASLEEP);
    Atomics.wait(this.#words, this.#control + TAIL, this.#head, milliseconds);
    Atomics.store(this.#words, reader, AWAKE);
  }

  /**
   * Sleeps in the event loop and returns a promise that resolves when a frame is ready; undefined if one already is. If
   * the runtime has no `Atomics.waitAsync`, the promise never resolves and the writer sends a message instead.
   */
  waitAsync(): Promise<unknown> | undefined {
    const reader = this.#control + READER;
    Atomics.store(this.#words, reader, waitAsync ? ASLEEP : NEEDS_MESSAGE);
    if (waitAsync) {
      const { async, value } = waitAsync(this.#words, this.#control + TAIL, this.#head);
      if (async) return value as Promise<string>;
    } else if (!this.ready) {
      return new Promise(() => {});
    }
    this.markAwake();
    return undefined;
  }

  /** Resumes the sleep that {@link waitAsync} began and {@link markAwake} interrupted. Returns false if a frame is ready. */
  resumeSleep(): boolean {
    Atomics.store(this.#words, this.#control + READER, waitAsync ? ASLEEP : NEEDS_MESSAGE);
    if (!this.ready) return true;
    this.markAwake();
    return false;
  }

  /** Marks this side awake: it checks the ring by itself. */
  markAwake(): void {
    Atomics.store(this.#words, this.#control + READER, AWAKE);
  }

  /** Ends the sleep that {@link waitAsync} began. */
  stop(): void {
    Atomics.notify(this.#words, this.#control + TAIL);
  }
}
