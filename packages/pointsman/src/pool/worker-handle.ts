/**
 * A worker of a pool in the host: its tasks, its messages and its end.
 *
 * Invariants:
 * - Tasks are submitted in order and run one at a time, so at most one task is claimed, and all others can be withdrawn
 *   at any time.
 * - Before a worker is terminated, all tasks but the running one are withdrawn, except those that can be submitted only
 *   once.
 * - Without shared memory no task can be withdrawn, so no task is submitted ahead of time.
 */

import { invalid } from '../sync/errors.js';
import { DataCloneError } from '../transport/clone-errors.js';
import { Endpoint } from '../transport/endpoint.js';
import { watchLock } from '../transport/lock.js';
import { type Port, platform } from '../transport/platform.js';
import { randomId } from '../transport/random-id.js';
import { Claims, SLOTS, type Stop } from './claims.js';
import { Definitions } from './definitions.js';
import { messageOf, PoolClosedError, ThreadEndedError } from './errors.js';
import { isBatch, namesOf, timeOf } from './incoming.js';
import { Mailbox } from './mailbox.js';
import type { PoolWorker } from './platform.js';
import type { Poller } from './poller.js';
import type { Setup, WireOptions } from './protocol.js';
import * as protocol from './protocol.js';
import { isStream, Stream } from './stream.js';
import type { Task, TaskHolder } from './task.js';
import { TaskSlots } from './task-slots.js';
import { listenToWorker } from './worker-events.js';
import type { WorkerOwner } from './worker-owner.js';

/** Maximum number of messages handled in one turn of the event loop. Row: 256 empty tasks. */
const MAX_PER_TURN = 16;

/** Maximum number of a thread's messages that are read before it is ended: its result may be among them. */
const MAX_BEFORE_END = 1_000;

export interface WorkerHandleOptions extends Setup {
  /** Milliseconds that a task has to stop after it was asked to. */
  readonly grace: number;
  /** Maximum number of tasks that the worker runs in its lifetime. */
  readonly maxTasks: number;
  readonly spins: boolean;
  /** The prefix of error messages. */
  readonly label: string;
  /** Polls for results; absent where that is not possible. */
  readonly poller: Poller | undefined;
}

export class WorkerHandle implements TaskHolder {
  readonly startedAt = performance.now();
  /** The number of tasks that have finished. */
  completed = 0;
  /** Whether the worker accepts no more tasks, and ends when it has none. */
  isRetiring = false;
  /** Whether the pool has asked it to end. */
  isEnding = false;
  /** Whether the worker spins for its next task. */
  readonly spins: boolean;
  /** Whether the worker has been able to run tasks. */
  wasReady = false;
  /** The function of all its tasks; undefined if they differ. */
  runsOnly: string | undefined;
  /** Whether it had tasks since the pool's last check for idle workers. */
  wasUsed = true;
  /** Whether a function or an iterator that a task returned is in use. */
  isCalled = false;
  readonly #owner: WorkerOwner<WorkerHandle>;
  readonly #worker: PoolWorker;
  readonly #options: WorkerHandleOptions;
  readonly #id = randomId();
  readonly #port: MessagePort;
  readonly #endpoint: Endpoint;
  /** Absent where memory cannot be shared. */
  readonly #claims: Claims | undefined;
  readonly #mailbox: Mailbox | undefined;
  readonly #stopListening: () => void;
  readonly #ended = new AbortController();
  readonly #targets = new Map<string, number>();
  readonly #definitions = new Definitions((id, definition) =>
    this.#endpoint.send(protocol.DEFINE, id, undefined, definition),
  );
  readonly #slots: TaskSlots;
  #isHeld = false;
  /** True at first, as for every worker. */
  #keepsAlive = true;
  #isBeingKilled = false;
  #isDraining = false;
  #isOver = false;

  constructor(owner: WorkerOwner<WorkerHandle>, worker: PoolWorker, options: WorkerHandleOptions) {
    this.#owner = owner;
    this.#worker = worker;
    this.#options = options;
    const memory =
      typeof SharedArrayBuffer === 'function'
        ? new SharedArrayBuffer(Claims.BYTES + Mailbox.BYTES)
        : undefined;
    this.#claims = memory && new Claims(memory);
    this.#slots = new TaskSlots(this, this.#claims);
    this.#mailbox = memory && new Mailbox(memory, Claims.BYTES, 'host');
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#endpoint = new Endpoint({
      post: (records, transfer) => {
        port1.postMessage(records, transfer);
        this.#mailbox?.posted();
      },
      handle: (kind, id, a, b, c) => {
        try {
          this.#handle(kind, id, a, b, c);
        } catch (error) {
          this.#malformed(error);
        }
      },
      unreadable: (kind, number, error) => {
        if (kind === protocol.UNCAUGHT) owner.failedOutsideTask(error);
        const task = this.#slots.get(number);
        if (task && protocol.carriesResult(kind)) this.#finish(task, error, true);
        // A thread whose function names are unknown would never get a task.
        else if (kind === protocol.READY) this.#malformed(error);
      },
      // A task of one caller must not call back in the context of another.
      separatesFunctions: true,
      pendingChanged: (pending) => {
        this.isCalled = pending > 0;
        this.hold(this.#isHeld);
      },
      unanswered: (name, why) =>
        new PoolClosedError(`${options.label}${name} has no answer: ${why}`),
    });
    this.#stopListening = listenToWorker(worker, this.#id, port1 as unknown as Port, {
      received: (records) => {
        this.#mailbox?.received();
        if (this.#mailbox) options.poller?.woke(this.#mailbox.age);
        this.#receive(records);
      },
      unreadable: (cause) => {
        this.#mailbox?.received();
        this.#receiveUnreadable(cause);
        owner.batchHandled();
      },
      failed: (error) => {
        if (!this.isReady) this.#lose('could not load its script', error);
      },
      ended: (exitCode, cause) => {
        const code = cause === undefined ? ` with code ${exitCode}` : '';
        this.#lose(`has ended${code}`, cause, exitCode);
      },
    });
    const { module, nice, heap, spins } = options;
    this.spins = spins;
    const polls = options.poller !== undefined;
    const setup = { module, nice, heap, polls, spins, id: this.#id, port: port2, memory };
    worker.postMessage([protocol.SETUP, setup] as const, [port2] as never);
  }

  /** The number of its tasks: one that runs, and those that wait in it. */
  get outstanding(): number {
    return this.#slots.size;
  }

  get expectedTime(): number {
    return this.#slots.expectedTime;
  }

  get busySince(): number {
    return this.#slots.busySince;
  }

  /** Whether it accepts another task. */
  get accepts(): boolean {
    const { outstanding } = this;
    if (this.#isBeingKilled || this.isRetiring || !this.isReady) return false;
    if (outstanding >= this.#options.maxTasks - this.completed) return false;
    return this.#slots.hasSpace;
  }

  get isReady(): boolean {
    return this.wasReady && !this.#isOver;
  }

  // --- messages, start and end ---

  /** Handles a batch and those that arrived meanwhile, so that the tasks submitted in reply share messages. */
  #receive(records: unknown): void {
    this.#take(records);
    if (this.#options.poller) {
      for (let left = MAX_PER_TURN; left > 0 && this.#mailbox?.ready; left--) {
        if (!this.#receiveNext()) break;
      }
    }
    this.#owner.batchHandled();
  }

  /** Receives a message without returning to the event loop. Returns false if there is none. */
  poll(): boolean {
    if (!this.#mailbox?.ready || !this.#receiveNext()) return false;
    this.#owner.batchHandled();
    return true;
  }

  /** Handles up to `max` messages that the worker has sent. */
  #drain(max: number): void {
    this.#isDraining = true;
    for (let left = max; left > 0 && !this.#isOver && this.#receiveNext(); left--) {}
    this.#isDraining = false;
  }

  #take(message: unknown): void {
    if (isBatch(message)) this.#endpoint.receive(message);
    else this.#malformed(new TypeError('a batch of records was expected'));
  }

  /** Terminates the thread: this package never sends such a message, so the state of the thread is unknown. */
  #malformed(cause: unknown): void {
    if (!this.#isDraining) this.#over('has sent a malformed message', cause);
  }

  #receiveNext(): boolean {
    let received: { message: unknown } | undefined;
    try {
      received = platform.receive?.(this.#port as unknown as Port);
    } catch (error) {
      this.#mailbox?.received();
      this.#receiveUnreadable(error);
      return true;
    }
    if (received === undefined) return false;
    this.#mailbox?.received();
    this.#take(received.message);
    return true;
  }

  /** Terminates the thread if the message was not announced: the tasks that it belongs to are then unknown. */
  #receiveUnreadable(cause: unknown): void {
    if (this.#endpoint.receiveUnreadable(cause) || this.#isDraining) return;
    this.#lose('sent a result that cannot be read', cause);
  }

  #handle(kind: number, id: number, a: unknown, b: unknown, c: unknown): void {
    switch (kind) {
      case protocol.RETURNED:
      case protocol.THREW: {
        const task = this.#slots.get(id);
        if (task) this.#finish(task, b, kind === protocol.THREW, timeOf(a), timeOf(c));
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
        if (task) this.#finish(task, undefined, false, timeOf(a), timeOf(c));
        break;
      }
      case protocol.READY:
        this.#ready(namesOf(b));
        break;
      case protocol.REFUSED:
        this.#lose(`could not load ${this.#options.module}`, b);
        break;
      case protocol.UNREADABLE:
        this.#unreadable(id);
        break;
      case protocol.RETIRE:
        this.#owner.retire(this);
        break;
      case protocol.UNCAUGHT:
        this.#owner.failedOutsideTask(b);
        break;
      case protocol.LOCKED:
        watchLock(this.#id, this.#ended.signal, () => this.#lose('has ended'));
    }
  }

  #ready(names: readonly string[]): void {
    if (this.wasReady) throw new Error('READY was sent twice');
    for (const [target, name] of names.entries()) this.#targets.set(name, target);
    this.wasReady = true;
    this.#owner.ready(this);
  }

  /** Sets whether the worker keeps the process alive; it also does while a task's returned function is called. */
  hold(held: boolean): void {
    this.#isHeld = held;
    const keeps = held || this.isCalled;
    if (keeps === this.#keepsAlive) return;
    this.#keepsAlive = keeps;
    this.#worker[keeps ? 'ref' : 'unref']?.();
  }

  /** Terminates the thread. Its tasks are handled as if it had exited. */
  async end(why: string): Promise<void> {
    this.isEnding = true;
    this.#lose(why);
    await this.#worker.terminate();
  }

  #lose(why: string, cause?: unknown, exitCode?: number): void {
    if (this.#isOver) return;
    // A thread that has not exited may send faster than the host reads.
    this.#drain(exitCode === undefined ? MAX_BEFORE_END : Number.POSITIVE_INFINITY);
    this.#over(why, cause, exitCode);
  }

  #over(why: string, cause?: unknown, exitCode?: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const unbegun = this.giveBack(SLOTS);
    const options = cause === undefined ? undefined : { cause };
    const ran = this.tasks();
    for (const [index, task] of ran.entries()) {
      const which =
        index === 0
          ? `the thread that ran ${task.name}()`
          : `the thread to which ${task.name}() had moved its arguments`;
      const message = `${this.#options.label}${which} ${why}`;
      const error = new ThreadEndedError(message, exitCode, options);
      this.#slots.remove(task);
      task.settle(error, true);
      task.stopWatching();
      task.stream?.fail(error);
      this.#owner.finished(this, task, true, undefined, undefined);
    }
    this.#ended.abort();
    this.#stopListening();
    this.#endpoint.close('the thread has ended');
    this.#port.close();
    this.#worker.terminate();
    const said = cause === undefined ? '' : `: ${messageOf(cause)}`;
    const end = cause ?? new ThreadEndedError(`a thread ${why}`, exitCode);
    this.#owner.lost(this, `a thread ${why}${said}`, end);
    this.#owner.returned(unbegun);
  }

  /** Returns its tasks, oldest first. */
  tasks(): Task[] {
    return this.#slots.list();
  }

  // --- tasks ---

  /** Submits a task. If its arguments cannot be sent, the task rejects and has no effect. */
  submit(task: Task): void {
    const { name, args, options: own } = task;
    if (this.outstanding === 0) this.runsOnly = name;
    else if (this.runsOnly !== name) this.runsOnly = undefined;
    const number = this.#slots.add(task);
    this.wasUsed = true;
    try {
      const target = own?.inline ? -1 : this.#targets.get(name);
      if (target === undefined) throw this.#unknown(name);
      const options = task.isPlain ? undefined : this.#wireOptionsOf(task);
      const { TASK } = protocol;
      const transfer = own?.transfer;
      // A task that has waited is submitted during another caller's turn.
      const sent = task.inContext(() =>
        this.#endpoint.sendArguments(TASK, number, target, args, options, transfer),
      );
      if (sent.isUnique) task.isUnique = true;
      task.watch?.submitted();
      this.#options.poller?.expect();
    } catch (error) {
      this.#refused(number, error);
    }
  }

  /**
   * Handles a message after task `number` that the worker could not read. The tasks in it are unknown, but no later
   * task has begun, so all later tasks reject.
   */
  #unreadable(number: number): void {
    for (const task of this.tasks()) {
      if (task.number <= number) continue;
      if (this.#claims?.withdraw(task.number) === false) continue;
      const message = `the thread cannot read the arguments of ${task.name}(), or of a task that was sent with it`;
      this.#refused(task.number, new DataCloneError(message));
    }
  }

  /** Rejects a task that could not be submitted. */
  #refused(number: number, error: unknown): void {
    const task = this.#slots.get(number);
    // A getter in the arguments may have cancelled it.
    if (task === undefined) return;
    this.#slots.remove(task);
    task.settle(error, true);
    this.#owner.finished(this, task, true, undefined, undefined);
  }

  #unknown(name: string): Error {
    const names = [...this.#targets.keys()].join(', ');
    const expected = names === '' ? 'a function of the module, which has none' : `one of ${names}`;
    return invalid('name', name, expected);
  }

  #wireOptionsOf({ options, startBy, runTimeout }: Task): WireOptions {
    const inline = options?.inline;
    // Throws if a captured value cannot be cloned.
    if (inline !== undefined) this.#definitions.add(inline);
    return { startBy, runTimeout, progress: options?.progress !== undefined, inline: inline?.id };
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

  #finish(task: Task, value: unknown, failed: boolean, begunAt?: number, runTime?: number): void {
    this.#slots.remove(task);
    this.completed++;
    if (failed) task.fail(value);
    else task.settle(value, false);
    task.stopWatching();
    this.#owner.finished(this, task, failed, begunAt, runTime);
  }

  withdraw(task: Task): boolean {
    if (!this.#slots.withdraw(task)) return false;
    this.#owner.rested(this);
    return true;
  }

  giveBack(atMost: number, lessUrgentThan = Number.POSITIVE_INFINITY): Task[] {
    return this.#slots.giveBack(atMost, lessUrgentThan);
  }

  stop(task: Task, stop: Stop, reason: unknown): void {
    task.killTimer = setTimeout(() => this.#kill(task), this.#options.grace);
    this.#endpoint.sendError(protocol.STOP, task.number, reason);
    // Flush first: a thread that sees the stop word must find the reason among its messages.
    this.#endpoint.flush();
    this.#claims?.stop(task.number, stop);
  }

  /** Terminates the thread, because the task did not stop in time. The other tasks are withdrawn first. */
  #kill(task: Task): void {
    const back = this.giveBack(SLOTS);
    // The result may be among the unread messages. No task may be submitted meanwhile.
    this.#isBeingKilled = true;
    this.#drain(MAX_BEFORE_END);
    this.#isBeingKilled = task.worker === this;
    if (this.#isBeingKilled) {
      void this.end('was terminated because the task did not stop when it was aborted');
    }
    this.#owner.returned(back);
  }
}
