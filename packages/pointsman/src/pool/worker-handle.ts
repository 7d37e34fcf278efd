/**
 * A worker of a pool in the host: its tasks, its start and its end.
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
import type { Port } from '../transport/platform.js';
import { randomId } from '../transport/random-id.js';
import { Claims, SLOTS, type Stop } from './claims.js';
import { Definitions } from './definitions.js';
import { messageOf, PoolClosedError, ThreadEndedError } from './errors.js';
import { Mailbox } from './mailbox.js';
import type { PoolWorker } from './platform.js';
import type { Poller } from './poller.js';
import type { Setup, WireOptions } from './protocol.js';
import * as protocol from './protocol.js';
import type { Task, TaskHolder } from './task.js';
import { TaskSlots } from './task-slots.js';
import { listenToWorker } from './worker-events.js';
import { type MessageTarget, WorkerMessages } from './worker-messages.js';
import type { WorkerOwner } from './worker-owner.js';

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

export class WorkerHandle implements TaskHolder, MessageTarget {
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
  /** Whether it has ended. */
  isOver = false;
  readonly #owner: WorkerOwner<WorkerHandle>;
  readonly #worker: PoolWorker;
  readonly options: WorkerHandleOptions;
  readonly #id = randomId();
  readonly #endpoint: Endpoint;
  readonly messages: WorkerMessages<WorkerHandle>;
  /** Absent where memory cannot be shared. */
  readonly #claims: Claims | undefined;
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

  constructor(owner: WorkerOwner<WorkerHandle>, worker: PoolWorker, options: WorkerHandleOptions) {
    this.#owner = owner;
    this.#worker = worker;
    this.options = options;
    const memory =
      typeof SharedArrayBuffer === 'function'
        ? new SharedArrayBuffer(Claims.BYTES + Mailbox.BYTES)
        : undefined;
    this.#claims = memory && new Claims(memory);
    this.#slots = new TaskSlots(this, this.#claims);
    const mailbox = memory && new Mailbox(memory, Claims.BYTES, 'host');
    const { port1, port2 } = new MessageChannel();
    this.#endpoint = new Endpoint({
      post: (records, transfer) => {
        port1.postMessage(records, transfer);
        mailbox?.posted();
      },
      handle: (kind, id, a, b, c) => this.messages.handle(kind, id, a, b, c),
      unreadable: (kind, number, error) => this.messages.handleUnreadable(kind, number, error),
      // A task of one caller must not call back in the context of another.
      separatesFunctions: true,
      pendingChanged: (pending) => {
        this.isCalled = pending > 0;
        this.hold(this.#isHeld);
      },
      unanswered: (name, why) =>
        new PoolClosedError(`${options.label}${name} has no answer: ${why}`),
    });
    const { poller } = options;
    this.messages = new WorkerMessages(this, owner, this.#slots, this.#endpoint, port1, mailbox);
    this.#stopListening = listenToWorker(worker, this.#id, port1 as unknown as Port, {
      received: (records) => this.messages.receive(records),
      unreadable: (cause) => this.messages.receiveUnreadable(cause),
      failed: (error) => {
        if (!this.isReady) this.lose('could not load its script', error);
      },
      ended: (exitCode, cause) => {
        const code = cause === undefined ? ` with code ${exitCode}` : '';
        this.lose(`has ended${code}`, cause, exitCode);
      },
    });
    const { module, nice, heap, spins } = options;
    this.spins = spins;
    const polls = poller !== undefined;
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
    if (outstanding >= this.options.maxTasks - this.completed) return false;
    return this.#slots.hasSpace;
  }

  get isReady(): boolean {
    return this.wasReady && !this.isOver;
  }

  // --- start and end ---

  ready(names: readonly string[]): void {
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
    this.lose(why);
    await this.#worker.terminate();
  }

  lose(why: string, cause?: unknown, exitCode?: number): void {
    if (this.isOver) return;
    // A thread that has not exited may send faster than the host reads.
    this.messages.drain(exitCode === undefined ? MAX_BEFORE_END : Infinity);
    this.over(why, cause, exitCode);
  }

  locked(): void {
    watchLock(this.#id, this.#ended.signal, () => this.lose('has ended'));
  }

  over(why: string, cause?: unknown, exitCode?: number): void {
    if (this.isOver) return;
    this.isOver = true;
    const unbegun = this.giveBack(SLOTS);
    const options = cause === undefined ? undefined : { cause };
    const ran = this.tasks();
    for (const [index, task] of ran.entries()) {
      const which =
        index === 0
          ? `the thread that ran ${task.name}()`
          : `the thread to which ${task.name}() had moved its arguments`;
      const message = `${this.options.label}${which} ${why}`;
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
    this.messages.port.close();
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
      this.options.poller?.expect();
    } catch (error) {
      this.#refused(number, error);
    }
  }

  /**
   * Handles a message after task `number` that the worker could not read. The tasks in it are unknown, but no later
   * task has begun, so all later tasks reject.
   */
  unread(number: number): void {
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

  finish(task: Task, value: unknown, failed: boolean, begunAt?: number, runTime?: number): void {
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

  giveBack(atMost: number, lessUrgentThan = Infinity): Task[] {
    return this.#slots.giveBack(atMost, lessUrgentThan);
  }

  stop(task: Task, stop: Stop, reason: unknown): void {
    task.killTimer = setTimeout(() => this.#kill(task), this.options.grace);
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
    this.messages.drain(MAX_BEFORE_END);
    this.#isBeingKilled = task.worker === this;
    if (this.#isBeingKilled) {
      void this.end('was terminated because the task did not stop when it was aborted');
    }
    this.#owner.returned(back);
  }
}
