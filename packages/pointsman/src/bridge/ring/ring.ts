/**
 * The ring: frames from one thread to one other through shared memory, in order.
 *
 * Invariants:
 * - Only the writer moves TAIL, only the reader moves HEAD; both count bytes and never go back. What
 *   lies between them belongs to the reader, the rest to the writer. So neither needs a lock.
 * - Nobody sleeps through a change: who wants to sleep says so first, and then waits on the very word
 *   whose change it has not seen; who changes that word looks for a sleeper afterwards.
 * - A frame that is not published does not exist: a writer that dies leaves nothing half done.
 *
 * A frame is a header of four words (bytes of payload, kind, two words of the user's) and the payload,
 * contiguous, padded to 8 bytes. What does not fit before the end of the memory goes to its beginning;
 * what does not fit at all is cut into parts, which the reader puts together.
 *
 * No system call is made unless the other side sleeps.
 */

import { Memory } from './memory.js';
import { CorruptMessageError, type Reader } from './reader.js';
import type { Writer } from './writer.js';

/** Words of a ring's control block, each on a cache line of its own. */
const TAIL = 0;
const HEAD = 16;
const READER = 32;
const WRITER = 48;
/** Bytes of a control block. */
export const CONTROL = 256;

/** What READER and WRITER say: awake, asleep at the word, or in an event loop that needs a message. */
const AWAKE = 0;
const ASLEEP = 1;
const NEEDS_MESSAGE = 2;

const HEADER = 16;
/** Kind of the frame that fills the rest of the memory. */
const PAD = -1;
/** Added to the kind of a part that others follow. */
const MORE = 0x40000000;
/**
 * An empty ring is begun anew after so many bytes: in the row `one blocking call` its frames stay in the cache,
 * however large the ring, and memory that is never needed is never touched.
 */
const RESTART = 1 << 15;
/** Bytes between two looks at whether it is empty: each fetches a cache line, and in `64 calls in flight` in vain. */
const LOOK = 1 << 12;

type Async = { async: boolean; value: string | Promise<string> };
const waitAsync = (
  Atomics as { waitAsync?: (words: Int32Array, index: number, value: number) => Async }
).waitAsync;

/** Where a ring lies: its control block, and as many bytes as a power of two. */
export interface RingPlace {
  readonly memory: Memory;
  /** Byte offsets, multiples of 64. */
  readonly control: number;
  readonly data: number;
  /** Bytes: a power of two, at least 4096. */
  readonly capacity: number;
}

/** A frame that waits for room. */
interface Queued {
  readonly bytes: Uint8Array;
  sent: number;
  readonly kind: number;
  readonly first: number;
  readonly second: number;
}

/**
 * Wakes whoever sleeps at `word` if `state` says so.
 *
 * Only the sleeper itself says that it is awake: it may have found what it wanted meanwhile, and be
 * about to sleep anew. One that needs a message will get it, whatever it does until then.
 */
function wake(words: Int32Array, state: number, word: number, byMessage: () => void): void {
  const said = Atomics.load(words, state);
  if (said === AWAKE) return;
  if (said === ASLEEP) Atomics.notify(words, word);
  else if (Atomics.compareExchange(words, state, NEEDS_MESSAGE, AWAKE) === NEEDS_MESSAGE)
    byMessage();
}

export class RingWriter {
  readonly #place: RingPlace;
  readonly #words: Int32Array;
  readonly #control: number;
  readonly #mask: number;
  readonly #wakeByMessage: () => void;
  #tail: number;
  /** As last seen: room that there is at least. */
  #head: number;
  /** Where it was last looked whether the ring is empty. */
  #lookedAt = 0;
  /** Where the frame that is being written begins, or -1 if it is written elsewhere. */
  #begun = -1;
  #queue: Queued[] = [];
  /** Whether something was published since the reader was last woken, or found awake. */
  #hasNews = false;

  /** `wakeByMessage` wakes a reader whose runtime cannot sleep at a word in its event loop. */
  constructor(place: RingPlace, wakeByMessage: () => void) {
    this.#place = place;
    this.#words = place.memory.i32;
    this.#control = place.control >> 2;
    this.#mask = place.capacity - 1;
    this.#wakeByMessage = wakeByMessage;
    this.#tail = Atomics.load(this.#words, this.#control + TAIL);
    this.#head = Atomics.load(this.#words, this.#control + HEAD);
  }

  /** Bytes that are free, and how many of them lie together at the tail. */
  #room(): number {
    this.#head = Atomics.load(this.#words, this.#control + HEAD);
    return this.#place.capacity - ((this.#tail - this.#head) | 0);
  }

  /** Begins a frame: `writer` is opened in the ring, or in memory of its own if there is no room. */
  begin(writer: Writer): void {
    const { memory, data, capacity } = this.#place;
    let at = this.#tail & this.#mask;
    if (at > RESTART && ((this.#tail - this.#lookedAt) | 0) >= LOOK) {
      this.#lookedAt = this.#tail;
      if (this.#room() === capacity) {
        this.#pad(capacity - at);
        at = 0;
      }
    }
    let free = capacity - ((this.#tail - this.#head) | 0);
    if (free < capacity >> 1) free = this.#room();
    const together = Math.min(free, capacity - at);
    if (this.#queue.length > 0 || together <= HEADER) {
      this.#begun = -1;
      writer.open(memory, data, data);
      return;
    }
    this.#begun = at;
    writer.open(memory, data + at + HEADER, data + at + together);
  }

  /** Publishes the frame that was begun. If there is no room it is sent by a later {@link flush}. */
  end(writer: Writer, kind: number, first: number, second: number): void {
    const { length } = writer;
    if (this.#begun >= 0 && !writer.spilled) {
      this.#publish(this.#begun, length, kind, first, second);
      return;
    }
    const bytes = writer.u8.subarray(writer.start, writer.start + length);
    if (this.#queue.length === 0) {
      const queued = { bytes, sent: 0, kind, first, second };
      if (this.#move(queued)) return;
      // The writer's memory is used for the next message.
      this.#queue.push({ ...queued, bytes: bytes.slice(queued.sent), sent: 0 });
    } else {
      this.#queue.push({ bytes: bytes.slice(), sent: 0, kind, first, second });
    }
  }

  #publish(at: number, length: number, kind: number, first: number, second: number): void {
    const header = (this.#place.data + at) >> 2;
    const words = this.#words;
    words[header] = length;
    words[header + 1] = kind;
    words[header + 2] = first;
    words[header + 3] = second;
    this.#tail = (this.#tail + HEADER + ((length + 7) & ~7)) | 0;
    this.#hasNews = true;
    Atomics.store(words, this.#control + TAIL, this.#tail);
  }

  #pad(bytes: number): void {
    const header = (this.#place.data + (this.#tail & this.#mask)) >> 2;
    this.#words[header] = bytes;
    this.#words[header + 1] = PAD;
    this.#tail = (this.#tail + bytes) | 0;
    this.#hasNews = true;
    // What follows may not fit before the reader has skipped this.
    Atomics.store(this.#words, this.#control + TAIL, this.#tail);
  }

  /** Moves as much of a frame into the ring as fits; whether that was all. */
  #move(queued: Queued): boolean {
    const { memory, data, capacity } = this.#place;
    for (;;) {
      const left = queued.bytes.length - queued.sent;
      const needed = HEADER + ((left + 7) & ~7);
      const at = this.#tail & this.#mask;
      const free = this.#room();
      let together = Math.min(free, capacity - at);
      if (together < needed && together < free) {
        // More lies at the beginning.
        if (free - together >= Math.min(needed, capacity >> 2)) {
          this.#pad(together);
          continue;
        }
      }
      // A part is worth its header and a wake-up; the last is as long as it is.
      if (together < Math.min(needed, capacity >> 3)) return false;
      together = Math.min(together, needed);
      // Parts of a quarter: the reader empties one while the next is written.
      if (needed > together || needed > capacity >> 1) {
        together = Math.min(together, capacity >> 2);
      }
      const length = Math.min(left, together - HEADER);
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

  /** Moves what waits for room; whether nothing is left. */
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

  /** Forgets what waits for room, ends the wait for it, and wakes the reader: there will be no more. */
  stop(): void {
    this.#queue = [];
    Atomics.notify(this.#words, this.#control + HEAD);
    Atomics.notify(this.#words, this.#control + TAIL);
  }

  get readerAsleep(): boolean {
    return Atomics.load(this.#words, this.#control + READER) !== AWAKE;
  }

  /** Whether {@link wake} would wake the reader. */
  get isWakeDue(): boolean {
    return this.#hasNews && this.readerAsleep;
  }

  /** Wakes the reader if it sleeps and there is something new for it. */
  wake(): void {
    if (!this.#hasNews) return;
    this.#hasNews = false;
    wake(this.#words, this.#control + READER, this.#control + TAIL, this.#wakeByMessage);
  }

  /** How much the reader has taken: changes as long as it is alive and has something to take. */
  get taken(): number {
    return Atomics.load(this.#words, this.#control + HEAD);
  }

  /** Blocks until the reader has taken more than `taken`, at most so many milliseconds. */
  waitForRoom(taken: number, milliseconds: number): void {
    const writer = this.#control + WRITER;
    // A `roomLater` that is pending still needs to be woken afterwards.
    const said = Atomics.exchange(this.#words, writer, ASLEEP);
    Atomics.wait(this.#words, this.#control + HEAD, taken, milliseconds);
    Atomics.store(this.#words, writer, said);
  }

  /**
   * Resolves when the reader has taken more than `taken`. Where the runtime has no `Atomics.waitAsync`
   * the reader sends a message then, and the promise never resolves.
   */
  async roomLater(taken: number): Promise<void> {
    const writer = this.#control + WRITER;
    Atomics.store(this.#words, writer, waitAsync ? ASLEEP : NEEDS_MESSAGE);
    if (waitAsync) {
      await waitAsync(this.#words, this.#control + HEAD, taken).value;
      Atomics.store(this.#words, writer, AWAKE);
    } else if (Atomics.load(this.#words, this.#control + HEAD) === taken) {
      await new Promise(() => {});
    }
  }
}

export class RingReader {
  readonly #place: RingPlace;
  readonly #words: Int32Array;
  readonly #control: number;
  readonly #mask: number;
  readonly #wakeByMessage: () => void;
  #head: number;
  /** As last seen. */
  #tail: number;
  /** Bytes of the ring that the current frame takes up. */
  #size = 0;
  /** Parts of a frame, put together; and how many bytes of it there are. */
  #parts = new Memory(new ArrayBuffer(0));
  #assembled = 0;

  /** Of the current frame. */
  kind = 0;
  first = 0;
  second = 0;

  /** `wakeByMessage` wakes a writer that waits for room and cannot sleep at a word. */
  constructor(place: RingPlace, wakeByMessage: () => void) {
    this.#place = place;
    this.#words = place.memory.i32;
    this.#control = place.control >> 2;
    this.#mask = place.capacity - 1;
    this.#wakeByMessage = wakeByMessage;
    this.#head = Atomics.load(this.#words, this.#control + HEAD);
    this.#tail = this.#head;
  }

  /** Whether there is something to read: one load if there is not. */
  get ready(): boolean {
    if (this.#tail !== this.#head) return true;
    this.#tail = Atomics.load(this.#words, this.#control + TAIL);
    return this.#tail !== this.#head;
  }

  /**
   * Opens `reader` at the payload of the next frame, if there is one. It stays there until
   * {@link release}, which has to come before the next call.
   */
  next(reader: Reader): boolean {
    const words = this.#words;
    const { memory, data } = this.#place;
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
   * Throws if no writer can have written this frame: a frame lies between HEAD and TAIL, and ends before the end of
   * the memory. An empty frame would make the reader loop forever.
   */
  #check(length: number, size: number): void {
    const { capacity } = this.#place;
    const published = (this.#tail - this.#head) | 0;
    const together = capacity - (this.#head & this.#mask);
    const fits = size <= published && size <= together && published <= capacity;
    if (length < 0 || size < 8 || (size & 7) !== 0 || !fits) {
      throw new CorruptMessageError(`a frame of ${length} bytes does not lie in the ring`);
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

  /** Gives the current frame's bytes back to the writer. */
  release(): void {
    this.#head = (this.#head + this.#size) | 0;
    Atomics.store(this.#words, this.#control + HEAD, this.#head);
    wake(this.#words, this.#control + WRITER, this.#control + HEAD, this.#wakeByMessage);
    // What was large once need not be kept.
    if (this.#assembled === 0 && this.#parts.u8.length > 1 << 22) {
      this.#parts = new Memory(new ArrayBuffer(0));
    }
  }

  /** Blocks until there is something to read, at most so many milliseconds. */
  wait(milliseconds: number): void {
    const reader = this.#control + READER;
    Atomics.store(this.#words, reader, ASLEEP);
    Atomics.wait(this.#words, this.#control + TAIL, this.#head, milliseconds);
    Atomics.store(this.#words, reader, AWAKE);
  }

  /**
   * Goes to sleep in the event loop. Resolves when there is something to read; undefined if there is
   * already, in which case it does not sleep. Where the runtime has no `Atomics.waitAsync` the writer
   * wakes it by a message, and the promise never resolves.
   */
  later(): Promise<unknown> | undefined {
    const reader = this.#control + READER;
    Atomics.store(this.#words, reader, waitAsync ? ASLEEP : NEEDS_MESSAGE);
    if (waitAsync) {
      const { async, value } = waitAsync(this.#words, this.#control + TAIL, this.#head);
      if (async) return value as Promise<string>;
    } else if (!this.ready) {
      return new Promise(() => {});
    }
    this.awake();
    return undefined;
  }

  /** Goes back to the sleep that {@link later} began and {@link awake} interrupted; false if there is something to read. */
  sleepOn(): boolean {
    Atomics.store(this.#words, this.#control + READER, waitAsync ? ASLEEP : NEEDS_MESSAGE);
    if (!this.ready) return true;
    this.awake();
    return false;
  }

  /** Says that it looks at the ring by itself. */
  awake(): void {
    Atomics.store(this.#words, this.#control + READER, AWAKE);
  }

  /** Ends the sleep that {@link later} began. */
  stop(): void {
    Atomics.notify(this.#words, this.#control + TAIL);
  }
}
