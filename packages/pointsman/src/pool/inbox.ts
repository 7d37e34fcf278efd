/**
 * How a worker of a pool receives its tasks: in its event loop, which a message wakes; what has come
 * meanwhile is received along with it, and for a moment after that it spins for what may come next.
 *
 * Invariant: it returns to the event loop at least every {@link TURN}, so what tasks have left there gets
 * its turn.
 */

import { listen, type Port, platform } from '../transport/platform.js';
import { WaitPolicy } from '../transport/wait-policy.js';
import type { Mailbox } from './mailbox.js';

/** Milliseconds. A task's timers and sockets wait no longer than for a short task. */
const TURN = 4;
/** So many polls before a look at the clock, which takes as long as all of them; a power of two. */
const POLLS = 32;

const pause: (() => void) | undefined = (Atomics as { pause?: () => void }).pause;

export interface InboxOptions {
  readonly port: Port;
  /** Absent where messages can be received in the event loop only. */
  readonly mailbox: Mailbox | undefined;
  /** Deals with a message. */
  handle(message: unknown[]): void;
  /** A message has come that cannot be read. */
  unreadable(): void;
  /** All that has come is dealt with. */
  drained(): void;
  /** Whether there is nothing else to do, and the next message is likely to come soon. */
  maySpin(): boolean;
}

export class Inbox {
  readonly #options: InboxOptions;
  readonly #policy = new WaitPolicy();

  constructor(options: InboxOptions) {
    this.#options = options;
    const { port, mailbox, handle, unreadable, drained } = options;
    const received = (message: unknown) => {
      mailbox?.received();
      if (mailbox) this.#policy.woke(mailbox.age);
      handle(message as unknown[]);
      if (mailbox) this.#receiveMore(mailbox);
      else drained();
    };
    listen(port, received, undefined, () => {
      mailbox?.received();
      unreadable();
    });
  }

  #receiveMore(mailbox: Mailbox): void {
    const { drained, maySpin } = this.#options;
    const end = performance.now() + TURN;
    do {
      while (mailbox.hasNews && performance.now() < end) {
        if (!this.#receiveNext(mailbox)) break;
      }
      drained();
    } while (maySpin() && performance.now() < end && this.#spin(mailbox));
  }

  /** Whether there was a message. */
  #receiveNext(mailbox: Mailbox): boolean {
    const { port, handle, unreadable } = this.#options;
    let received: { message: unknown } | undefined;
    try {
      received = platform.receive?.(port);
    } catch {
      mailbox.received();
      unreadable();
      return true;
    }
    if (received === undefined) return false;
    mailbox.received();
    handle(received.message as unknown[]);
    return true;
  }

  /** Whether something has come within the bound. */
  #spin(mailbox: Mailbox): boolean {
    const { bound } = this.#policy;
    if (mailbox.hasNews || bound === 0) return mailbox.hasNews;
    const until = performance.now() + bound;
    for (let polls = 1; ; polls++) {
      if (mailbox.hasNews) {
        this.#policy.hit();
        return true;
      }
      pause?.();
      if ((polls & (POLLS - 1)) === 0 && performance.now() >= until) break;
    }
    this.#policy.missed();
    return false;
  }
}
