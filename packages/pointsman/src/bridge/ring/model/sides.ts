/**
 * Models how the two sides of a bridge use one ring.
 *
 * Invariant: all state that determines a thread's next step is in the ring's fields, in the state passed to `attach`, or
 * in the observations of its running task.
 */

import { Reader } from '../reader.js';
import { Writer } from '../writer.js';
import type { Instrumented } from './instrument.js';
import { capacity, data, type Shared, type Steps, Violation } from './shared.js';

/** The ring's methods after {@link instrument}. */
export interface ModelWriter {
  begin(writer: Writer): Steps;
  end(writer: Writer, kind: number, first: number, second: number): Steps;
  flush(): Steps<boolean>;
  wake(): Steps;
  consumed(): Steps<number>;
  queued(): Steps<number>;
  waitForSpace(consumed: number, milliseconds: number): Steps;
  waitForSpaceAsync(consumed: number): Steps;
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
  waitAsync(): Steps<unknown>;
  resumeSleep(): Steps<boolean>;
  markAwake(): Steps;
  fields(): readonly unknown[];
}

export interface Frame {
  readonly size: number;
  /** Whether the writer blocks until the frame fits; otherwise its event loop sends the rest. */
  readonly blocks: boolean;
}

export interface Scenario {
  readonly name: string;
  readonly frames: readonly Frame[];
  /** The number of frames for which the reader blocks. */
  readonly blockingFrames: number;
  /** Whether the reader also reads in its event loop. */
  readonly hasEventLoop: boolean;
  /** The initial value of both counters. */
  readonly from?: number;
  /** Maximum number of sleeps that time out. */
  readonly timeouts?: number;
  /** Whether the runtime lacks `Atomics.waitAsync`. */
  readonly byMessage?: boolean;
}

const bytesOf = (frame: Frame, index: number) =>
  Uint8Array.from({ length: frame.size }, (_, at) => (index + 1) * 37 + at);
const kindOf = (index: number) => 5 + index;

/** Both sides of a ring in their initial state. */
export class Sides {
  readonly #scenario: Scenario;
  readonly #shared: Shared;
  readonly #contents: readonly Uint8Array[];
  readonly #writer: ModelWriter;
  readonly #reader: ModelReader;
  readonly #from = new Writer(1 << 20);
  readonly #to = new Reader();
  // The state of the writer.
  #waitsForSpace = false;
  #sent = 0;
  // The state of the reader.
  #sleeping = false;
  #armed = false;
  #read = 0;

  constructor(scenario: Scenario, { RingWriter, RingReader }: Instrumented, shared: Shared) {
    this.#scenario = scenario;
    this.#shared = shared;
    this.#contents = scenario.frames.map(bytesOf);
    shared.reset(scenario.from ?? 0);
    const layout = { memory: shared.memory, control: 0, data, capacity };
    this.#writer = new RingWriter(layout, () => shared.post('reader', 'wake'));
    this.#reader = new RingReader(layout, () => shared.post('writer', 'space'));
    shared.attach({
      writer: {
        receive: () => this.#spaceAvailable(),
        state: () => [this.#waitsForSpace, this.#sent, ...this.#writer.fields()],
      },
      reader: {
        receive: () => this.#pump(),
        state: () => [this.#sleeping, this.#armed, this.#read, ...this.#reader.fields()],
      },
    });
    shared.addTask('writer', 'sends', this.#sends());
    if (scenario.hasEventLoop) shared.addTask('reader', 'hasEventLoop', this.#armWakeup());
    if (scenario.blockingFrames > 0) shared.addTask('reader', 'blocks', this.#blocks());
  }

  /** Called when no thread has a next step. Throws unless both have finished. */
  checkEnd(): void {
    const { frames } = this.#scenario;
    if (this.#read < frames.length) {
      throw new Violation(`all sleep, and ${this.#read} of ${frames.length} frames were read`);
    }
    if (this.#sent < frames.length)
      throw new Violation('all sleep, and the writer has not finished');
  }

  // --- the writer ---

  /** Sends each frame in its own turn of the event loop. */
  *#sends(): Steps {
    const frame = this.#scenario.frames[this.#sent] as Frame;
    yield* this.#writer.begin(this.#from);
    this.#from.reserve(frame.size);
    this.#from.u8.set(this.#contents[this.#sent] as Uint8Array, this.#from.position);
    this.#from.position += frame.size;
    yield* this.#writer.end(this.#from, kindOf(this.#sent), this.#sent, -this.#sent);
    this.#sent++;
    this.#shared.checkpoint('sent');
    if (frame.blocks) yield* this.#deliverAll();
    else yield* this.#deliver();
    if (this.#sent < this.#scenario.frames.length) this.#shared.spawn('sends', this.#sends());
  }

  *#deliverAll(): Steps {
    for (;;) {
      this.#shared.checkpoint('delivers');
      const consumed = yield* this.#writer.consumed();
      const all = yield* this.#writer.flush();
      yield* this.#writer.wake();
      if (all) return;
      yield* this.#writer.waitForSpace(consumed, 250);
    }
  }

  *#deliver(): Steps {
    const consumed = yield* this.#writer.consumed();
    const all = yield* this.#writer.flush();
    yield* this.#writer.wake();
    if (all || this.#waitsForSpace) return;
    this.#waitsForSpace = true;
    yield* this.#shared.fork('waits for space', this.#waitForSpace(consumed));
  }

  *#waitForSpace(consumed: number): Steps {
    yield* this.#writer.waitForSpaceAsync(consumed);
    yield* this.#spaceAvailable();
  }

  *#spaceAvailable(): Steps {
    this.#waitsForSpace = false;
    yield* this.#deliver();
  }

  // --- the reader ---

  *#armWakeup(): Steps {
    if (this.#sleeping) return;
    if (this.#armed) {
      if (yield* this.#reader.resumeSleep()) this.#sleeping = true;
      else this.#shared.spawn('looks', this.#pump());
      return;
    }
    const later = yield* this.#reader.waitAsync();
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
    yield* this.#reader.markAwake();
    while (yield* this.#take()) this.#shared.checkpoint('looks');
    yield* this.#armWakeup();
  }

  *#blocks(): Steps {
    if (this.#sleeping) yield* this.#reader.markAwake();
    while (this.#read < this.#scenario.blockingFrames) {
      this.#shared.checkpoint('looks');
      if (yield* this.#reader.ready()) yield* this.#take();
      else while (!(yield* this.#reader.ready())) yield* this.#reader.wait(250);
    }
    this.#shared.checkpoint('done');
    if (this.#sleeping && !(yield* this.#reader.resumeSleep())) {
      this.#shared.spawn('looks', this.#pump());
    }
  }

  *#take(): Steps<boolean> {
    if (!(yield* this.#reader.next(this.#to))) return false;
    this.#check(this.#read);
    this.#read++;
    this.#shared.checkpoint('took');
    yield* this.#reader.release();
    return true;
  }

  /** Throws unless the frame is the next one, complete and unchanged. */
  #check(index: number): void {
    const content = this.#contents[index];
    if (content === undefined) throw new Violation('a frame was read that was not written');
    const { memory, position, end } = this.#to;
    const { kind, first, second } = this.#reader;
    const [found, wanted] = [
      [kind, first, second],
      [kindOf(index), index, -index],
    ].map(String);
    if (found !== wanted) throw new Violation(`frame ${index} has header ${found}, not ${wanted}`);
    if (memory.u8.subarray(position, end).join() !== content.join()) {
      throw new Violation(`frame ${index} has changed`);
    }
  }
}
