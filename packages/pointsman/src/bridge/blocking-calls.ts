/**
 * How a thread blocks for answers, and how it learns that there will be none.
 *
 * Invariant: a blocked thread checks at least every {@link LIVENESS_INTERVAL} whether the bridge is closed, whether
 * the other side is alive, whether both wait for each other, whether its time is over. Meanwhile it
 * carries out what the other side calls here.
 */

import type { WaitOptions } from '../sync/options.js';
import { timedOut } from '../transport/outcome.js';
import { spinFor } from '../transport/spin.js';
import { WaitPolicy } from '../transport/wait-policy.js';
import { type Ending, unanswered } from './ending.js';
import { DeadlockError, UnresponsiveError } from './errors.js';
import type { FrameReader } from './frame-reader.js';
import type { FrameWriter } from './frame-writer.js';
import { CANCEL, PING } from './frames.js';
import type { Poller } from './poller.js';
import type { SharedState } from './shared-state.js';

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

/** What the endpoint does for its thread while that is blocked. */
export interface BlockedEndpoint {
  /** Handles one frame; false if none is ready. */
  handleNext(): boolean;
  /** Answers a call of the other side that is still open. */
  refuse(id: number, error: Error): void;
  nameOf(target: number): string;
  /**
   * Why the bridge has ended, if it has; what the other side has said before has been handled then. `isSilent`:
   * nothing was heard of the other side for a while.
   */
  checkEnded(isSilent: boolean): Ending | undefined;
}

/** A call of the other side whose promise cannot settle while this thread is blocked. */
interface Postponed {
  readonly id: number;
  readonly name: string;
  readonly since: number;
}

/** Milliseconds between two liveness checks at most: so soon a blocked call learns that the bridge is closed. */
const LIVENESS_INTERVAL = 250;
/** Milliseconds between two looks for an answer while it waits for room, as an answer does not wake it then. */
const ROOM_INTERVAL = 1;
/** Frames between two liveness checks, a power of two: a clock for each would take its part of `batches of 64`. */
const FRAMES = 64;

export class BlockingCalls {
  readonly #endpoint: BlockedEndpoint;
  readonly #reader: FrameReader;
  readonly #writer: FrameWriter;
  readonly #state: SharedState;
  readonly #poller: Poller;
  readonly #policy: WaitPolicy;
  /** Milliseconds for which the other thread may be silent. */
  readonly #heartbeatTimeout: number;
  #waiting: Waiting | undefined;
  #postponed: Postponed[] = [];
  /** Milliseconds between two liveness checks at most: a `PING` must be left time for its answer. */
  readonly #interval: number;
  #pinged = 0;
  #ponged = 0;

  constructor(
    endpoint: BlockedEndpoint,
    reader: FrameReader,
    writer: FrameWriter,
    state: SharedState,
    poller: Poller,
    { heartbeatTimeout, spins }: { readonly heartbeatTimeout: number; readonly spins: boolean },
  ) {
    this.#endpoint = endpoint;
    this.#reader = reader;
    this.#writer = writer;
    this.#state = state;
    this.#poller = poller;
    this.#policy = new WaitPolicy(spins);
    this.#heartbeatTimeout = heartbeatTimeout;
    this.#interval = Math.min(LIVENESS_INTERVAL, heartbeatTimeout / 2);
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
  run(waiting: Waiting, options: WaitOptions | undefined): void {
    const endpoint = this.#endpoint;
    const reader = this.#reader;
    const writer = this.#writer;
    const poller = this.#poller;
    const policy = this.#policy;
    const { ring } = reader;
    const timeout = options?.timeout;
    let handled = 0;
    poller.leave();
    try {
      this.#deliverAll(waiting, timeout);
      // Who has to be woken first will not have answered within what a wake-up costs.
      let { bound } = policy;
      if (bound > 0 && writer.ring.readerAsleep) bound = 0;
      while (waiting.left > 0) {
        if (!ring.ready) {
          if (bound === 0) {
            this.#sleep(waiting, timeout);
            ({ bound } = policy);
          } else if (spinFor(ring, bound)) {
            policy.hit();
          } else {
            policy.missed();
            bound = 0;
          }
          continue;
        }
        waiting.heard = 0;
        // What a nested call has to say goes at once.
        if (endpoint.handleNext() && waiting.left > 0) writer.deliver();
        if (reader.isPaused) {
          this.#checkOpen(waiting);
          throw this.#unreachable(waiting);
        }
        // Others may keep this thread so busy that it never sleeps.
        if ((++handled & (FRAMES - 1)) === 0) this.#checkLiveness(waiting, timeout);
      }
    } finally {
      if (waiting.outer === undefined) this.#postponed = [];
      poller.resume();
      writer.resume();
    }
  }

  /** Sends all that has been written, waiting for room. */
  #deliverAll(waiting: Waiting, timeout: number | undefined): void {
    const writer = this.#writer;
    for (;;) {
      const { taken } = writer.ring;
      if (writer.deliverNow()) return;
      const left = this.#checkLiveness(waiting, timeout);
      writer.ring.waitForRoom(taken, Math.min(left, this.#interval));
      if (writer.ring.taken !== taken) waiting.heard = 0;
    }
  }

  /** Sleeps until there is something to read. */
  #sleep(waiting: Waiting, timeout: number | undefined): void {
    const writer = this.#writer;
    const state = this.#state;
    const { ring } = this.#reader;
    state.block();
    state.sleeps();
    try {
      // Most sleeps end soon: the clock is read only when one has not, or has to end in time.
      if (timeout === undefined && waiting.began === 0 && writer.ring.queued === 0) {
        ring.wait(this.#interval);
        if (!ring.ready) waiting.heard = performance.now() - this.#interval;
      }
      while (!ring.ready) {
        const left = this.#checkLiveness(waiting, timeout);
        if (waiting.left === 0) break;
        if (writer.ring.queued === 0) {
          ring.wait(Math.min(left, this.#interval));
          continue;
        }
        // What this thread has said meanwhile waits for room, and the answer may depend on it.
        const { taken } = writer.ring;
        if (!writer.deliverNow()) writer.ring.waitForRoom(taken, Math.min(left, ROOM_INTERVAL));
        if (writer.ring.taken !== taken) waiting.heard = 0;
      }
    } finally {
      state.unblock();
    }
    state.woke(this.#policy);
  }

  /** Throws if there is no point in waiting on; how many milliseconds there are left. */
  #checkLiveness(waiting: Waiting, timeout = Number.POSITIVE_INFINITY): number {
    const writer = this.#writer;
    const heartbeatTimeout = this.#heartbeatTimeout;
    const now = performance.now();
    waiting.began ||= now;
    waiting.heard ||= now;
    const name = () => this.nameOf(waiting.targets);
    const isSilent = now - waiting.heard >= this.#interval;
    this.#checkOpen(waiting, isSilent);
    if (now - waiting.began >= timeout) {
      const { from, count } = waiting;
      for (let id = from; id < from + count; id++) writer.note(CANCEL, id, 0);
      writer.deliver();
      throw timedOut(name(), timeout);
    }
    if (!this.#state.otherWaitsForThis) waiting.mutual = 0;
    else waiting.mutual ||= now;
    // It may have its answer already and not have woken yet.
    if (waiting.mutual > 0 && now - waiting.mutual >= this.#interval) {
      throw new DeadlockError(
        `${name()}() waits for a thread that is blocked by a call to this one`,
        name(),
      );
    }
    if (now - waiting.heard > heartbeatTimeout) {
      throw new UnresponsiveError(
        `${name()}() heard nothing from the other thread for ${heartbeatTimeout} ms: it is gone, or does not return to its event loop`,
        name(),
      );
    }
    if (isSilent && this.#pinged === this.#ponged) {
      writer.note(PING, ++this.#pinged, 0);
      writer.deliver();
    }
    this.#refusePostponed(waiting, now - heartbeatTimeout);
    return Math.min(timeout - (now - waiting.began), heartbeatTimeout);
  }

  /** Throws if the bridge has ended; not if the last that was said before was the answer. */
  #checkOpen(waiting: Waiting, isSilent = false): void {
    const ending = this.#endpoint.checkEnded(isSilent);
    if (ending && waiting.left > 0) throw unanswered(ending, this.nameOf(waiting.targets));
  }

  /** The other side may be waiting for what cannot go on before it has answered. */
  #refusePostponed(waiting: Waiting, before: number): void {
    while (this.#postponed[0] !== undefined && this.#postponed[0].since < before) {
      const { id, name } = this.#postponed.shift() as Postponed;
      this.#endpoint.refuse(
        id,
        new DeadlockError(
          `${name}() cannot go on: its promise waits for a thread that is blocked in ${this.nameOf(waiting.targets)}()`,
          name,
        ),
      );
      this.#writer.deliver();
    }
  }

  #unreachable(waiting: Waiting): DeadlockError {
    const name = this.nameOf(waiting.targets);
    return new DeadlockError(
      `${name}() cannot go on: the other side hands over a value by message, and no message reaches a thread that is blocked`,
      name,
    );
  }

  /** The name of what is called, for errors. */
  nameOf(targets: Waiting['targets']): string {
    if (typeof targets === 'number') return this.#endpoint.nameOf(targets);
    const names = new Set(targets.map(({ target }) => this.#endpoint.nameOf(target)));
    return `batch of ${[...names].join(', ')}`;
  }
}
