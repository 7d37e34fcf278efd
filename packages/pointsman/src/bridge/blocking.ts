/**
 * How a thread blocks for answers, and how it learns that there will be none.
 *
 * Invariant: a blocked thread looks around at least every 250 ms: whether the bridge is closed, whether
 * the other side is alive, whether both wait for each other, whether its time is over. Meanwhile it
 * carries out what the other side calls here.
 */

import type { CallOptions } from '../transport/call-options.js';
import { timedOut } from '../transport/outcome.js';
import type { WaitPolicy } from '../transport/wait-policy.js';
import type { Control } from './control.js';
import { DeadlockError, UnresponsiveError } from './errors.js';
import { CANCEL, PING } from './frames.js';
import type { RingReader, RingWriter } from './ring/ring.js';

/** A blocking call, or several that were sent together. */
export interface Waiting {
  readonly from: number;
  count: number;
  left: number;
  readonly values: unknown[];
  /** The place of the first that has failed, or -1. */
  failed: number;
  /** Which function it calls, or several in a batch. */
  readonly targets: number | readonly { readonly target: number }[];
  /** The one that this thread was blocked for already, and that has led to this one. */
  readonly outer: Waiting | undefined;
  /** When it was first about to sleep, or 0: until then no clock is read. */
  began: number;
  /** When the other side has last shown that it is alive, or 0 if that is now. */
  heard: number;
  /** Since when the other side has been seen to wait for this one, or 0. */
  mutual: number;
}

/** What a side lets its blocked thread do. */
export interface Blockable {
  /** Handles one frame, if a whole one is there. */
  handleNext(): boolean;
  /** Whether the frame that comes next waits for a value that travels by message. */
  isPaused(): boolean;
  /** Sends what was written, as far as there is room. */
  deliver(): void;
  /** Writes a frame without a payload. */
  note(kind: number, first: number, second: number): void;
  /** Answers a call of the other side that is still open. */
  refuse(id: number, error: Error): void;
  nameOf(target: number): string;
  /** Throws if the bridge is closed. */
  checkOpen(name: () => string): void;
  /** The event loop is left to itself, and attended to again. */
  leaveEventLoop(): void;
  returnToEventLoop(): void;
}

export interface BlockingOptions {
  readonly ringReader: RingReader;
  readonly ringWriter: RingWriter | undefined;
  readonly control: Control;
  readonly patience: number;
  readonly policy: WaitPolicy;
}

/** A call of the other side whose promise cannot settle while this thread is blocked. */
interface Postponed {
  readonly id: number;
  readonly name: string;
  readonly since: number;
}

/** Milliseconds between two looks around, at most. */
const SLICE = 250;
/** The same while it waits for room, where nobody wakes it for a message. */
const BRIEF = 1;
/** So many looks at the ring before a look at the clock, a power of two. */
const POLLS = 32;
/** So many frames before a look around, a power of two. */
const FRAMES = 64;

const pause: (() => void) | undefined = (Atomics as { pause?: () => void }).pause;

export class Blocking {
  readonly #side: Blockable;
  readonly #ring: RingReader;
  readonly #options: BlockingOptions;
  #waiting: Waiting | undefined;
  #postponed: Postponed[] = [];
  /** Milliseconds between two looks around: one that asks for a sign of life must be left time for it. */
  readonly #slice: number;
  #pinged = 0;
  #ponged = 0;

  constructor(side: Blockable, options: BlockingOptions) {
    const { ringReader } = options;
    this.#side = side;
    this.#ring = ringReader;
    this.#options = options;
    this.#slice = Math.min(SLICE, options.patience / 2);
  }

  get isBlocked(): boolean {
    return this.#waiting !== undefined;
  }

  /** Calls from this number on are about to be sent. */
  begin(from: number, count: number, targets: Waiting['targets']): Waiting {
    const waiting: Waiting = {
      from,
      count,
      left: count,
      values: [],
      failed: -1,
      targets,
      outer: this.#waiting,
      began: 0,
      heard: 0,
      mutual: 0,
    };
    this.#waiting = waiting;
    return waiting;
  }

  end(waiting: Waiting): void {
    this.#waiting = waiting.outer;
  }

  /** Whether it is one of the calls that this thread is blocked for. */
  answered(id: number, value: unknown, failed: boolean): boolean {
    for (let waiting = this.#waiting; waiting; waiting = waiting.outer) {
      const place = id - waiting.from;
      if (place < 0 || place >= waiting.count) continue;
      waiting.values[place] = value;
      if (failed && (waiting.failed < 0 || place < waiting.failed)) waiting.failed = place;
      waiting.left--;
      return true;
    }
    return false;
  }

  postpone(id: number, name: string): void {
    this.#postponed.push({ id, name, since: performance.now() });
  }

  ponged(ping: number): void {
    this.#ponged = ping;
  }

  /** Blocks until all answers are there. */
  run(waiting: Waiting, options: CallOptions | undefined): void {
    const ring = this.#ring;
    const { policy } = this.#options;
    const side = this.#side;
    policy.begin();
    side.leaveEventLoop();
    try {
      this.#deliverAll(waiting, options?.timeout);
      let polls = 0;
      let until = 0;
      let handled = 0;
      while (waiting.left > 0) {
        if (ring.ready) {
          waiting.heard = 0;
          polls = 0;
          // What a nested call has to say goes at once.
          if (side.handleNext() && waiting.left > 0) side.deliver();
          if (side.isPaused()) {
            side.checkOpen(() => this.#nameOf(waiting));
            throw this.#unreachable(waiting);
          }
          // Others may keep this thread so busy that it never sleeps.
          if ((++handled & (FRAMES - 1)) === 0) this.#look(waiting, options?.timeout);
          continue;
        }
        const { spin } = policy.current;
        if (spin > 0) {
          pause?.();
          if ((++polls & (POLLS - 1)) !== 0) continue;
          const now = performance.now();
          if (polls === POLLS) until = now + spin / 1_000;
          if (now < until) continue;
        }
        policy.slept();
        this.#sleep(waiting, options?.timeout);
        polls = 0;
      }
    } finally {
      if (waiting.outer === undefined) this.#postponed = [];
      side.returnToEventLoop();
    }
  }

  /** Sends all that has been written, waiting for room. */
  #deliverAll(waiting: Waiting, timeout: number | undefined): void {
    const { ringWriter } = this.#options;
    if (ringWriter === undefined) {
      this.#side.deliver();
      return;
    }
    for (;;) {
      const { taken } = ringWriter;
      const all = ringWriter.flush();
      ringWriter.wake();
      if (all) return;
      const left = this.#look(waiting, timeout);
      ringWriter.waitForRoom(taken, Math.min(left, this.#slice));
      if (ringWriter.taken !== taken) waiting.heard = 0;
    }
  }

  /** Sleeps until there is something to read. */
  #sleep(waiting: Waiting, timeout: number | undefined): void {
    const ring = this.#ring;
    const { control, ringWriter } = this.#options;
    control.block();
    try {
      // Most sleeps end soon: the clock is read only when one has not, or has to end in time.
      if (timeout === undefined && waiting.began === 0 && !ringWriter?.queued) {
        ring.wait(this.#slice);
      }
      while (!ring.ready) {
        const left = this.#look(waiting, timeout);
        if (ringWriter === undefined || ringWriter.queued === 0) {
          ring.wait(Math.min(left, this.#slice));
          continue;
        }
        // What this thread has said meanwhile waits for room, and the answer may depend on it.
        const { taken } = ringWriter;
        const all = ringWriter.flush();
        ringWriter.wake();
        if (!all) ringWriter.waitForRoom(taken, Math.min(left, BRIEF));
        if (ringWriter.taken !== taken) waiting.heard = 0;
      }
    } finally {
      control.unblock();
    }
  }

  /** Throws if there is no point in waiting on; how many milliseconds there are left. */
  #look(waiting: Waiting, timeout = Number.POSITIVE_INFINITY): number {
    const { control, patience } = this.#options;
    const side = this.#side;
    const now = performance.now();
    waiting.began ||= now;
    waiting.heard ||= now;
    side.checkOpen(() => this.#nameOf(waiting));
    if (now - waiting.began >= timeout) {
      const { from, count } = waiting;
      for (let id = from; id < from + count; id++) side.note(CANCEL, id, 0);
      side.deliver();
      throw timedOut(this.#nameOf(waiting), timeout);
    }
    if (!control.otherWaitsForThis) waiting.mutual = 0;
    else waiting.mutual ||= now;
    // It may have its answer already and not have woken yet.
    if (waiting.mutual > 0 && now - waiting.mutual >= this.#slice) {
      const name = this.#nameOf(waiting);
      throw new DeadlockError(
        `${name}() waits for a thread that is blocked by a call to this one`,
        name,
      );
    }
    if (now - waiting.heard > patience) {
      const name = this.#nameOf(waiting);
      throw new UnresponsiveError(
        `${name}() got no sign of life from the other thread for ${patience} ms: it is gone, or does not return to its event loop`,
        name,
      );
    }
    if (now - waiting.heard >= this.#slice && this.#pinged === this.#ponged) {
      side.note(PING, ++this.#pinged, 0);
      side.deliver();
    }
    this.#refusePostponed(waiting, now - patience);
    return Math.min(timeout - (now - waiting.began), patience);
  }

  /** The other side may be waiting for what cannot go on before it has answered. */
  #refusePostponed(waiting: Waiting, before: number): void {
    while (this.#postponed[0] !== undefined && this.#postponed[0].since < before) {
      const { id, name } = this.#postponed.shift() as Postponed;
      this.#side.refuse(
        id,
        new DeadlockError(
          `${name}() cannot go on: its promise waits for a thread that is blocked in ${this.#nameOf(waiting)}()`,
          name,
        ),
      );
      this.#side.deliver();
    }
  }

  #unreachable(waiting: Waiting): DeadlockError {
    const name = this.#nameOf(waiting);
    return new DeadlockError(
      `${name}() cannot go on: the other side hands over a value by message, and no message reaches a thread that is blocked`,
      name,
    );
  }

  #nameOf({ targets }: Waiting): string {
    if (typeof targets === 'number') return this.#side.nameOf(targets);
    const names = new Set(targets.map(({ target }) => this.#side.nameOf(target)));
    return `batch of ${[...names].join(', ')}`;
  }
}

/** Looks for a frame until then, without sleeping. */
export function lookFor(ring: RingReader, until: number): boolean {
  for (let polls = 1; ; polls++) {
    if (ring.ready) return true;
    pause?.();
    if ((polls & (POLLS - 1)) === 0 && performance.now() >= until) return false;
  }
}
