/**
 * Blocks a thread until its replies arrive, or until they can no longer arrive.
 *
 * Invariant: at least every {@link LIVENESS_INTERVAL}, a blocked thread checks whether the bridge is closed, whether
 * the other side is alive, whether both wait for each other, and whether its timeout has expired. Meanwhile it serves
 * the other side's calls.
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

/** A blocking call, or the calls of a blocking batch. */
export interface BlockedCall {
  readonly from: number;
  count: number;
  remaining: number;
  readonly values: unknown[];
  /** The index of the first call that failed, or -1. */
  firstFailed: number;
  /** The number of the function, or the calls of a batch. */
  readonly targets: number | readonly { readonly target: number }[];
  /** The blocking call in which this one is nested. */
  readonly outer: BlockedCall | undefined;
  /** When the thread first tried to sleep; 0 before that, to avoid a clock read. */
  startedAt: number;
  /** When the other side last showed that it is alive; 0 means now. */
  activeAt: number;
  /** Since when the other side waits for this thread; 0 if it does not. */
  mutualSince: number;
}

export interface BlockedEndpoint {
  /** Handles one frame. Returns false if none is ready. */
  handleNext(): boolean;
  failServed(id: number, error: Error): void;
  nameOf(target: number): string;
  /**
   * Returns why the bridge has ended, if it has; the other side's earlier frames are handled then. `isSilent`: the
   * other side has shown no activity for a while.
   */
  checkEnded(isSilent: boolean): Ending | undefined;
}

/** A served call whose promise may not settle while this thread is blocked. */
interface DeferredCall {
  readonly id: number;
  readonly name: string;
  readonly since: number;
}

/** Maximum milliseconds until a blocked call detects a closed bridge. */
const LIVENESS_INTERVAL = 250;
/** Maximum milliseconds until a deferred call fails, also if no `heartbeatTimeout` is set: it may wait forever. */
const MAX_DEFERRAL = 10_000;
/** Milliseconds between two checks for a reply during a wait for space, which a reply does not end. */
const SPACE_INTERVAL = 1;
/** Frames between two liveness checks, a power of two. A clock read per frame slows the lab's row `batches of 64`. */
const FRAMES = 64;

export class BlockingCalls {
  readonly #endpoint: BlockedEndpoint;
  readonly #reader: FrameReader;
  readonly #writer: FrameWriter;
  readonly #state: SharedState;
  readonly #poller: Poller;
  readonly #policy: WaitPolicy;
  readonly #heartbeatTimeout: number;
  #current: BlockedCall | undefined;
  #deferred: DeferredCall[] = [];
  /** Maximum milliseconds between two liveness checks; leaves a `PING` time for its reply. */
  readonly #interval: number;
  #lastPing = 0;
  #lastPong = 0;

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
    return this.#current !== undefined;
  }

  /** Calls from this number on are about to be sent. */
  begin(from: number, count: number, targets: BlockedCall['targets']): BlockedCall {
    const call: BlockedCall = {
      from,
      count,
      remaining: count,
      values: [],
      firstFailed: -1,
      targets,
      outer: this.#current,
      startedAt: 0,
      activeAt: 0,
      mutualSince: 0,
    };
    this.#current = call;
    return call;
  }

  end(call: BlockedCall): void {
    this.#current = call.outer;
  }

  /** Stores a reply. Returns false if this thread is not blocked for that call. */
  answered(id: number, value: unknown, failed: boolean): boolean {
    for (let call = this.#current; call; call = call.outer) {
      const index = id - call.from;
      if (index < 0 || index >= call.count) continue;
      call.values[index] = value;
      if (failed && (call.firstFailed < 0 || index < call.firstFailed)) call.firstFailed = index;
      call.remaining--;
      return true;
    }
    return false;
  }

  defer(id: number, name: string): void {
    this.#deferred.push({ id, name, since: performance.now() });
  }

  ponged(ping: number): void {
    this.#lastPong = ping;
  }

  run(call: BlockedCall, options: WaitOptions | undefined): void {
    const endpoint = this.#endpoint;
    const reader = this.#reader;
    const writer = this.#writer;
    const poller = this.#poller;
    const policy = this.#policy;
    const { ring } = reader;
    const timeout = options?.timeout;
    let handled = 0;
    poller.pause();
    try {
      this.#deliverAll(call, timeout);
      // A sleeping thread cannot reply within the cost of one wake-up.
      let { bound } = policy;
      if (bound > 0 && writer.ring.readerAsleep) bound = 0;
      while (call.remaining > 0) {
        if (!ring.ready) {
          if (bound === 0) {
            this.#sleep(call, timeout);
            ({ bound } = policy);
          } else if (!spinFor(ring, bound, policy)) {
            bound = 0;
          }
          continue;
        }
        call.activeAt = 0;
        // Frames that a served call wrote are sent at once.
        if (endpoint.handleNext() && call.remaining > 0) writer.deliver();
        if (reader.isPaused) {
          this.#checkOpen(call);
          throw this.#unreachable(call);
        }
        // Calls of the other side may prevent any sleep.
        if ((++handled & (FRAMES - 1)) === 0) this.#checkLiveness(call, timeout);
      }
    } finally {
      if (call.outer === undefined) this.#deferred = [];
      poller.resume();
      writer.resume();
    }
  }

  #deliverAll(call: BlockedCall, timeout: number | undefined): void {
    const writer = this.#writer;
    for (;;) {
      const { consumed } = writer.ring;
      if (writer.deliverNow()) return;
      const left = this.#checkLiveness(call, timeout);
      writer.ring.waitForSpace(consumed, Math.min(left, this.#interval));
      if (writer.ring.consumed !== consumed) call.activeAt = 0;
    }
  }

  #sleep(call: BlockedCall, timeout: number | undefined): void {
    const writer = this.#writer;
    const state = this.#state;
    const { ring } = this.#reader;
    state.block();
    state.beforeSleep();
    try {
      // Most sleeps are short: the clock is read only after a long one or with a timeout.
      if (timeout === undefined && call.startedAt === 0 && writer.ring.queued === 0) {
        ring.wait(this.#interval);
        if (!ring.ready) call.activeAt = performance.now() - this.#interval;
      }
      while (!ring.ready) {
        const left = this.#checkLiveness(call, timeout);
        if (call.remaining === 0) break;
        if (writer.ring.queued === 0) {
          ring.wait(Math.min(left, this.#interval));
          continue;
        }
        // The reply may depend on this thread's waiting frames.
        const { consumed } = writer.ring;
        if (!writer.deliverNow())
          writer.ring.waitForSpace(consumed, Math.min(left, SPACE_INTERVAL));
        if (writer.ring.consumed !== consumed) call.activeAt = 0;
      }
    } finally {
      state.unblock();
    }
    state.afterSleep(this.#policy);
  }

  /** Throws if the wait cannot succeed. Returns the maximum milliseconds until the next check. */
  #checkLiveness(call: BlockedCall, timeout = Number.POSITIVE_INFINITY): number {
    const writer = this.#writer;
    const heartbeatTimeout = this.#heartbeatTimeout;
    const now = performance.now();
    call.startedAt ||= now;
    call.activeAt ||= now;
    const name = () => this.nameOf(call.targets);
    const isSilent = now - call.activeAt >= this.#interval;
    this.#checkOpen(call, isSilent);
    if (now - call.startedAt >= timeout) {
      const { from, count } = call;
      for (let id = from; id < from + count; id++) writer.control(CANCEL, id, 0);
      writer.deliver();
      throw timedOut(name(), timeout);
    }
    if (!this.#state.otherWaitsForThis) call.mutualSince = 0;
    else call.mutualSince ||= now;
    // The other side may already have its reply but not have woken yet.
    if (call.mutualSince > 0 && now - call.mutualSince >= this.#interval) {
      throw new DeadlockError(
        `${name()}() waits for a thread that is blocked by a call to this one`,
        name(),
      );
    }
    if (now - call.activeAt > heartbeatTimeout) {
      throw new UnresponsiveError(
        `${name()}() got no response from the other thread for ${heartbeatTimeout} ms: it has ended, or its event loop is blocked`,
        name(),
      );
    }
    if (isSilent && this.#lastPing === this.#lastPong) {
      writer.control(PING, ++this.#lastPing, 0);
      writer.deliver();
    }
    this.#refuseDeferred(call, now - Math.min(heartbeatTimeout, MAX_DEFERRAL));
    return Math.min(timeout - (now - call.startedAt), heartbeatTimeout);
  }

  /** Throws if the bridge ended before the replies arrived. */
  #checkOpen(call: BlockedCall, isSilent = false): void {
    const ending = this.#endpoint.checkEnded(isSilent);
    if (ending && call.remaining > 0) throw unanswered(ending, this.nameOf(call.targets));
  }

  /** Fails calls deferred before `before`: their promises may depend on this blocked thread. */
  #refuseDeferred(call: BlockedCall, before: number): void {
    while (this.#deferred[0] !== undefined && this.#deferred[0].since < before) {
      const { id, name } = this.#deferred.shift() as DeferredCall;
      this.#endpoint.failServed(
        id,
        new DeadlockError(
          `${name}() cannot complete: its promise waits for a thread that is blocked in ${this.nameOf(call.targets)}()`,
          name,
        ),
      );
      this.#writer.deliver();
    }
  }

  #unreachable(call: BlockedCall): DeadlockError {
    const name = this.nameOf(call.targets);
    return new DeadlockError(
      `${name}() cannot complete: the other side sent a value by message, and a blocked thread receives no messages`,
      name,
    );
  }

  nameOf(targets: BlockedCall['targets']): string {
    if (typeof targets === 'number') return this.#endpoint.nameOf(targets);
    const names = new Set(targets.map(({ target }) => this.#endpoint.nameOf(target)));
    return `batch of ${[...names].join(', ')}`;
  }
}
