/**
 * How a worker receives tasks. A message wakes its event loop; the worker then also receives the messages that arrived
 * meanwhile, and spins briefly for the next one.
 *
 * Invariant: the worker returns to the event loop after {@link TURN}, or after the task that runs then, so timers and
 * I/O of earlier tasks are served.
 */

import { now } from '../transport/clock.js';
import { soon } from '../transport/event-loop.js';
import { listen, type Port, platform } from '../transport/platform.js';
import { spinFor } from '../transport/spin.js';
import { WaitPolicy } from '../transport/wait-policy.js';
import type { Mailbox } from './mailbox.js';

/** Milliseconds of work before a return to the event loop. */
const TURN = 4;

export interface InboxOptions {
  readonly port: Port;
  /** Absent where only the event loop can receive messages. */
  readonly mailbox: Mailbox | undefined;
  /** Called with each message. */
  take(message: unknown[]): void;
  /** Called for a message that cannot be read, with the reason. */
  unreadable(cause: unknown): void;
  /** Runs tasks until `end`, by the clock of {@link now}. Returns whether there are more. */
  work(end: number): boolean;
  /** Called at the end of a turn. */
  turnEnded(): void;
  /** Whether the worker is idle and the next message is likely to arrive soon. */
  maySpin(): boolean;
}

export class Inbox {
  readonly #options: InboxOptions;
  readonly #policy = new WaitPolicy();
  #goesOn = false;
  /** Messages that arrived while a task ran; they are handled in the next turn. */
  #held: unknown[][] = [];

  constructor(options: InboxOptions) {
    this.#options = options;
    const { port, mailbox, take, unreadable } = options;
    const received = (message: unknown) => {
      mailbox?.received();
      if (mailbox) this.#policy.woke(mailbox.age);
      this.#takeHeld();
      take(message as unknown[]);
      this.turn();
    };
    listen(port, received, undefined, (cause) => {
      mailbox?.received();
      unreadable(cause);
      this.turn();
    });
  }

  /**
   * Receives messages while a task runs, if that is possible without returning to the event loop. `takeUrgent` handles
   * the records of a message that cannot wait and returns the others, which are handled in the next turn: no other code
   * may run inside the task.
   */
  receiveDuringTask(takeUrgent: (message: unknown[]) => unknown[]): void {
    const { mailbox } = this.#options;
    const hold = (message: unknown[]) => this.#held.push(takeUrgent(message));
    while (mailbox?.ready && this.#receiveNext(mailbox, hold)) {}
    if (this.#held.length > 0) this.#goOnSoon();
  }

  /** Receives messages and runs tasks for one turn. */
  turn(): void {
    const { mailbox, work, turnEnded, maySpin } = this.#options;
    const policy = this.#policy;
    const end = now() + TURN;
    this.#takeHeld();
    do {
      while (mailbox?.ready && now() < end && this.#receiveNext(mailbox)) {}
      const hasMore = work(end);
      turnEnded();
      if (hasMore || this.#held.length > 0) {
        this.#goOnSoon();
        return;
      }
    } while (mailbox && maySpin() && now() < end && spinFor(mailbox, policy.bound, policy));
  }

  #takeHeld(): void {
    const held = this.#held;
    if (held.length === 0) return;
    this.#held = [];
    for (const message of held) this.#options.take(message);
  }

  #goOnSoon(): void {
    if (this.#goesOn) return;
    this.#goesOn = true;
    soon(() => {
      this.#goesOn = false;
      this.turn();
    });
  }

  /** Receives the next message. Returns false if there is none. */
  #receiveNext(mailbox: Mailbox, take = this.#options.take): boolean {
    const { port, unreadable } = this.#options;
    let received: { message: unknown } | undefined;
    try {
      received = platform.receive?.(port);
    } catch (error) {
      mailbox.received();
      unreadable(error);
      return true;
    }
    if (received === undefined) return false;
    mailbox.received();
    take(received.message as unknown[]);
    return true;
  }
}
