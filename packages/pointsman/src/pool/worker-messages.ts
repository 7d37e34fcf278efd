/**
 * Reads the messages of a worker in the host, and handles their records.
 *
 * Invariants:
 * - A thread may run any code, so each message is checked. This package never sends a malformed one: the state of a
 *   thread that does is unknown, and the thread is terminated.
 * - No message that is read by `drain` ends the worker as malformed or unreadable: the worker is ending already.
 */

import type { Endpoint } from '../transport/endpoint.js';
import { type Port, platform } from '../transport/platform.js';
import { isBatch, namesOf, timeOf } from './incoming.js';
import type { Mailbox } from './mailbox.js';
import type { Poller } from './poller.js';
import * as protocol from './protocol.js';
import { isStream, Stream } from './stream.js';
import type { Task } from './task.js';
import type { TaskSlots } from './task-slots.js';
import type { WorkerOwner } from './worker-owner.js';

/** Maximum number of messages handled in one turn of the event loop. Row: 256 empty tasks. */
const MAX_PER_TURN = 16;

/** The worker whose messages are read. */
export interface MessageTarget {
  readonly options: { readonly module: string | undefined; readonly poller: Poller | undefined };
  /** Whether the worker has ended. */
  readonly isOver: boolean;
  /** The worker can run these functions. */
  ready(names: readonly string[]): void;
  /** A task has finished. The times, in milliseconds, are undefined if not known. */
  finish(task: Task, value: unknown, failed: boolean, begunAt?: number, runTime?: number): void;
  /** The worker could not read a message that was sent after task `number`. */
  unread(number: number): void;
  /** The worker holds the lock that it releases when it ends. */
  locked(): void;
  /** Reads the messages that have arrived, and ends the worker. */
  lose(why: string, cause: unknown): void;
  /** Ends the worker. */
  over(why: string, cause: unknown): void;
}

export class WorkerMessages<Worker extends MessageTarget> {
  readonly #worker: Worker;
  readonly #owner: WorkerOwner<Worker>;
  readonly #slots: TaskSlots;
  readonly #endpoint: Endpoint;
  readonly port: MessagePort;
  /** Absent where memory cannot be shared. */
  readonly #mailbox: Mailbox | undefined;
  #isDraining = false;

  constructor(
    worker: Worker,
    owner: WorkerOwner<Worker>,
    slots: TaskSlots,
    endpoint: Endpoint,
    port: MessagePort,
    mailbox: Mailbox | undefined,
  ) {
    this.#worker = worker;
    this.#owner = owner;
    this.#slots = slots;
    this.#endpoint = endpoint;
    this.port = port;
    this.#mailbox = mailbox;
  }

  // --- messages ---

  /** Handles a batch and those that arrived meanwhile, so that the tasks submitted in reply share messages. */
  receive(records: unknown): void {
    const { poller } = this.#worker.options;
    this.#mailbox?.received();
    if (this.#mailbox) poller?.woke(this.#mailbox.age);
    this.#take(records);
    if (poller) {
      for (let left = MAX_PER_TURN; left > 0 && this.#mailbox?.ready; left--) {
        if (!this.#receiveNext()) break;
      }
    }
    this.#owner.batchHandled();
  }

  /** Handles the event of a message that cannot be read. */
  receiveUnreadable(cause: unknown): void {
    this.#mailbox?.received();
    this.#takeUnreadable(cause);
    this.#owner.batchHandled();
  }

  /** Receives a message without returning to the event loop. Returns false if there is none. */
  poll(): boolean {
    if (!this.#mailbox?.ready || !this.#receiveNext()) return false;
    this.#owner.batchHandled();
    return true;
  }

  /** Handles up to `max` messages that the worker has sent. */
  drain(max: number): void {
    this.#isDraining = true;
    for (let left = max; left > 0 && !this.#worker.isOver && this.#receiveNext(); left--) {}
    this.#isDraining = false;
  }

  #receiveNext(): boolean {
    let received: { message: unknown } | undefined;
    try {
      received = platform.receive?.(this.port as unknown as Port);
    } catch (error) {
      this.#mailbox?.received();
      this.#takeUnreadable(error);
      return true;
    }
    if (received === undefined) return false;
    this.#mailbox?.received();
    this.#take(received.message);
    return true;
  }

  #take(message: unknown): void {
    if (isBatch(message)) this.#endpoint.receive(message);
    else this.#malformed(new TypeError('a batch of records was expected'));
  }

  #takeUnreadable(cause: unknown): void {
    if (this.#endpoint.receiveUnreadable(cause) || this.#isDraining) return;
    this.#worker.lose('sent a result that cannot be read', cause);
  }

  #malformed(cause: unknown): void {
    if (!this.#isDraining) this.#worker.over('has sent a malformed message', cause);
  }

  // --- records ---

  /** Handles a record that the endpoint does not handle itself. */
  handle(kind: number, id: number, a: unknown, b: unknown, c: unknown): void {
    try {
      this.#handle(kind, id, a, b, c);
    } catch (error) {
      this.#malformed(error);
    }
  }

  /** Handles a record whose value cannot be read. */
  handleUnreadable(kind: number, number: number, error: unknown): void {
    if (kind === protocol.UNCAUGHT) this.#owner.failedOutsideTask(error);
    const task = this.#slots.get(number);
    if (task && protocol.carriesResult(kind)) this.#worker.finish(task, error, true);
    // A thread whose function names are unknown would never get a task.
    else if (kind === protocol.READY) this.#malformed(error);
  }

  #handle(kind: number, id: number, a: unknown, b: unknown, c: unknown): void {
    const worker = this.#worker;
    switch (kind) {
      case protocol.RETURNED:
      case protocol.THREW: {
        const task = this.#slots.get(id);
        if (task) worker.finish(task, b, kind === protocol.THREW, timeOf(a), timeOf(c));
        break;
      }
      case protocol.PROGRESS:
        this.#slots.get(id)?.progressed(b);
        break;
      case protocol.ITERATES:
        this.#iterates(id, b);
        break;
      case protocol.ITERATED: {
        const task = this.#slots.get(id);
        task?.stream?.ended();
        if (task) worker.finish(task, undefined, false, timeOf(a), timeOf(c));
        break;
      }
      case protocol.READY:
        worker.ready(namesOf(b));
        break;
      case protocol.REFUSED:
        worker.lose(`could not load ${worker.options.module}`, b);
        break;
      case protocol.UNREADABLE:
        worker.unread(id);
        break;
      case protocol.RETIRE:
        this.#owner.retire(worker);
        break;
      case protocol.UNCAUGHT:
        this.#owner.failedOutsideTask(b);
        break;
      case protocol.LOCKED:
        worker.locked();
    }
  }

  /** Settles a task with the iterator that it returned. */
  #iterates(number: number, value: unknown): void {
    const task = this.#slots.get(number);
    if (task === undefined) return;
    if (!isStream(value) || task.stream) throw new TypeError('one iterator was expected');
    const stream = new Stream(value);
    task.stream = stream;
    // A cancelled task has no reader.
    if (task.isCancelled) stream.fail(undefined);
    task.settle(stream, false);
  }
}
