/**
 * The ways in which a bridge uses a ring: what its two sides do, without anything but the ring.
 *
 * Invariant: everything that decides what a thread does next is in the ring's fields, in the state that
 * is given to `attach`, or seen by its running task; nothing is kept elsewhere.
 */

import { Reader } from '../reader.js';
import { Writer } from '../writer.js';
import type { Instrumented } from './instrument.js';
import { capacity, data, type Shared, type Steps, Violation } from './shared.js';

/** The ring's own methods, after the rewriting. */
export interface ModelWriter {
  begin(writer: Writer): Steps;
  end(writer: Writer, kind: number, first: number, second: number): Steps;
  flush(): Steps<boolean>;
  wake(): Steps;
  taken(): Steps<number>;
  queued(): Steps<number>;
  waitForRoom(taken: number, milliseconds: number): Steps;
  roomLater(taken: number): Steps;
  fields(): readonly unknown[];
}

export interface ModelReader {
  readonly kind: number;
  readonly first: number;
  readonly second: number;
  ready(): Steps<boolean>;
  next(reader: Reader): Steps<boolean>;
  release(): Steps;
  wait(milliseconds: number): Steps;
  later(): Steps<unknown>;
  sleepOn(): Steps<boolean>;
  awake(): Steps;
  fields(): readonly unknown[];
}

export interface Frame {
  readonly size: number;
  /** Whether its writer blocks until there was room for all, or leaves the rest to its event loop. */
  readonly blocks: boolean;
}

export interface Setup {
  readonly name: string;
  readonly frames: readonly Frame[];
  /** Frames of which the reader has to have so many before it returns from a blocking call. */
  readonly blocksFor: number;
  /** Whether the reader is in its event loop otherwise; or it blocks for all. */
  readonly attends: boolean;
  /** Where both counters begin. */
  readonly from?: number;
  /** Sleeps that end by their time, at most. */
  readonly timeouts?: number;
  /** Whether the runtime has no `Atomics.waitAsync`. */
  readonly byMessage?: boolean;
}

const bytesOf = (frame: Frame, index: number) =>
  Uint8Array.from({ length: frame.size }, (_, at) => (index + 1) * 37 + at);
const kindOf = (index: number) => 5 + index;

/** Both sides of a ring, begun anew. */
export class World {
  readonly #setup: Setup;
  readonly #shared: Shared;
  readonly #contents: readonly Uint8Array[];
  readonly #writer: ModelWriter;
  readonly #reader: ModelReader;
  readonly #from = new Writer(1 << 20);
  readonly #to = new Reader();
  /** The writer's: what it waits for in its event loop. */
  #waitsForRoom = false;
  #sent = 0;
  /** The reader's: as in a side of a bridge. */
  #sleeping = false;
  #armed = false;
  #read = 0;

  constructor(setup: Setup, { RingWriter, RingReader }: Instrumented, shared: Shared) {
    this.#setup = setup;
    this.#shared = shared;
    this.#contents = setup.frames.map(bytesOf);
    shared.reset(setup.from ?? 0);
    const place = { memory: shared.memory, control: 0, data, capacity };
    this.#writer = new RingWriter(place, () => shared.post('reader', 'wake'));
    this.#reader = new RingReader(place, () => shared.post('writer', 'room'));
    shared.attach({
      writer: {
        receive: () => this.#roomCame(),
        state: () => [this.#waitsForRoom, this.#sent, ...this.#writer.fields()],
      },
      reader: {
        receive: () => this.#pump(),
        state: () => [this.#sleeping, this.#armed, this.#read, ...this.#reader.fields()],
      },
    });
    shared.begin('writer', 'sends', this.#sends());
    if (setup.attends) shared.begin('reader', 'attends', this.#attend());
    if (setup.blocksFor > 0) shared.begin('reader', 'blocks', this.#blocks());
  }

  /** Nobody can do anything any more: says what is wrong then. */
  checkEnd(): void {
    const { frames } = this.#setup;
    if (this.#read < frames.length) {
      throw new Violation(`all sleep, and ${this.#read} of ${frames.length} frames were read`);
    }
    if (this.#sent < frames.length) throw new Violation('all sleep, and the writer is not done');
  }

  // --- the writer ---

  /** Each frame in a turn of the event loop of its own. */
  *#sends(): Steps {
    const frame = this.#setup.frames[this.#sent] as Frame;
    yield* this.#writer.begin(this.#from);
    this.#from.reserve(frame.size);
    this.#from.u8.set(this.#contents[this.#sent] as Uint8Array, this.#from.position);
    this.#from.position += frame.size;
    yield* this.#writer.end(this.#from, kindOf(this.#sent), this.#sent, -this.#sent);
    this.#sent++;
    this.#shared.point('sent');
    if (frame.blocks) yield* this.#deliverAll();
    else yield* this.#deliver();
    if (this.#sent < this.#setup.frames.length) this.#shared.spawn('sends', this.#sends());
  }

  *#deliverAll(): Steps {
    for (;;) {
      this.#shared.point('delivers');
      const taken = yield* this.#writer.taken();
      const all = yield* this.#writer.flush();
      yield* this.#writer.wake();
      if (all) return;
      yield* this.#writer.waitForRoom(taken, 250);
    }
  }

  *#deliver(): Steps {
    const taken = yield* this.#writer.taken();
    const all = yield* this.#writer.flush();
    yield* this.#writer.wake();
    if (all || this.#waitsForRoom) return;
    this.#waitsForRoom = true;
    yield* this.#shared.fork('waits for room', this.#roomLater(taken));
  }

  *#roomLater(taken: number): Steps {
    yield* this.#writer.roomLater(taken);
    yield* this.#roomCame();
  }

  *#roomCame(): Steps {
    this.#waitsForRoom = false;
    yield* this.#deliver();
  }

  // --- the reader ---

  *#attend(): Steps {
    if (this.#sleeping) return;
    if (this.#armed) {
      if (yield* this.#reader.sleepOn()) this.#sleeping = true;
      else this.#shared.spawn('looks', this.#pump());
      return;
    }
    const later = yield* this.#reader.later();
    if (later === undefined) {
      this.#shared.spawn('looks', this.#pump());
      return;
    }
    this.#sleeping = true;
    this.#armed = true;
    yield* this.#shared.fork('sleeps', this.#woken(later));
  }

  *#woken(later: unknown): Steps {
    yield* this.#shared.settled(later);
    this.#armed = false;
    yield* this.#pump();
  }

  *#pump(): Steps {
    this.#sleeping = false;
    yield* this.#reader.awake();
    while (yield* this.#take()) this.#shared.point('looks');
    yield* this.#attend();
  }

  *#blocks(): Steps {
    if (this.#sleeping) yield* this.#reader.awake();
    while (this.#read < this.#setup.blocksFor) {
      this.#shared.point('looks');
      if (yield* this.#reader.ready()) yield* this.#take();
      else while (!(yield* this.#reader.ready())) yield* this.#reader.wait(250);
    }
    this.#shared.point('done');
    if (this.#sleeping && !(yield* this.#reader.sleepOn())) {
      this.#shared.spawn('looks', this.#pump());
    }
  }

  *#take(): Steps<boolean> {
    if (!(yield* this.#reader.next(this.#to))) return false;
    this.#check(this.#read);
    this.#read++;
    this.#shared.point('took');
    yield* this.#reader.release();
    return true;
  }

  /** It is the next frame, whole and unchanged. */
  #check(index: number): void {
    const content = this.#contents[index];
    if (content === undefined) throw new Violation('a frame is read that was not written');
    const { memory, position, end } = this.#to;
    const { kind, first, second } = this.#reader;
    const [found, wanted] = [
      [kind, first, second],
      [kindOf(index), index, -index],
    ].map(String);
    if (found !== wanted) throw new Violation(`frame ${index} says ${found} instead of ${wanted}`);
    if (memory.u8.subarray(position, end).join() !== content.join()) {
      throw new Violation(`frame ${index} is not as it was written`);
    }
  }
}
