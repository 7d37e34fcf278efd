/**
 * One thread of a pool, as the host sees it: which tasks it has, how many it may have, and its end.
 *
 * Invariants:
 * - Tasks are handed over in order and run one at a time, so what has not been claimed can be taken back
 *   at any time, and what has been claimed is one task.
 * - A thread is ended only for the task that it runs: all others have been taken back before.
 *
 * How far ahead: as many tasks as take about a millisecond, by what tasks of the same function have taken.
 * More would keep urgent tasks waiting, and fewer would make it wait for the host, whose wake-up takes up to
 * a tenth of that.
 */

import { structured } from '../bridge/codec/structured.js';
import {
  Connection,
  makeOffer,
  message,
  messageOf,
  type Offer,
  workerHasEnded,
} from '../bridge/connection.js';
import type { Side } from '../bridge/side.js';
import { invalid } from '../sync/errors.js';
import { watchLock } from '../transport/lock.js';
import { listen, type Port, platform } from '../transport/platform.js';
import { transfer } from '../transport/transfer.js';
import { Claims, now, SLOTS, type Stop } from './claims.js';
import { ThreadEndedError } from './errors.js';
import type { Pace, Paces } from './pace.js';
import type { PoolWorker } from './platform.js';
import { EXTENDED, type Extras, type Setup } from './protocol.js';
import { isStream, Stream } from './stream.js';
import type { Task } from './task.js';

/** Milliseconds of work that a thread may have ahead. */
const AHEAD = 1;
const MOST_AHEAD = 256;
/** One that runs and one that waits: so no thread has to wait for the host between two tasks. */
const LEAST_AHEAD = 2;

/** Milliseconds that it takes to wake a thread where idle cores sleep. */
const WAKING = 0.05;
/** Milliseconds that it takes to hand a task over: one thread keeps up with tasks that take less. */
const HANDING_OVER = 0.001;

/** Functions written in place that a thread keeps. A program that makes ever more of them must not grow. */
const MOST_DEFINED = 256;

const CAPACITY = 1 << 20;
const LIMIT = 1 << 30;

/** A function, as a thread knows it. */
interface Known {
  readonly target: number;
  readonly pace: Pace;
}

/** What a thread tells its pool. */
export interface ThreadOwner {
  readonly paces: Paces;
  /** It can be given tasks. */
  ready(thread: Thread): void;
  /** A task is over. `runTime`: milliseconds; undefined if nobody knows. */
  finished(thread: Thread, task: Task, failed: boolean, runTime: number | undefined): void;
  /** These tasks, which were not begun, need another thread. */
  returned(tasks: readonly Task[]): void;
  /** It has ended. */
  lost(thread: Thread, error: unknown): void;
  /** It should be replaced. */
  retire(thread: Thread): void;
}

const codec = structured();

export class Thread {
  readonly startedAt = now();
  /** Tasks that it has. */
  outstanding = 0;
  /** Tasks that it has run. */
  completed = 0;
  /** It gets no more tasks, and ends when it has none. */
  retiring = false;
  /** Its pool has asked it to end. */
  isEnding = false;
  /** Whether it had tasks since somebody last asked. */
  wasUsed = true;
  /** It has not ended a task for a while, and others have nothing to do: it gets none until it has. */
  isStuck = false;
  readonly #owner: ThreadOwner;
  readonly #worker: PoolWorker;
  readonly #grace: number;
  readonly #mostTasks: number;
  readonly #claims = new Claims();
  readonly #port: MessagePort;
  readonly #values: MessagePort | undefined;
  readonly #offer: Offer;
  readonly #stopListening: (() => void)[] = [];
  readonly #ended = new AbortController();
  #connection: Connection | undefined;
  #known = new Map<string, Known>();
  readonly #defined = new Set<number>();
  /** By number, from the oldest on. */
  readonly #tasks: (Task | undefined)[] = new Array(SLOTS).fill(undefined);
  #oldest = 0;
  #sent = 0;
  readonly #streams = new Map<number, Task>();
  /** Milliseconds that those it has take in all: by the mean, and if each takes no longer than is usual. */
  #ahead = 0;
  #due = 0;
  #isBeingKilled = false;
  #over = false;

  /** `mostTasks`: how many it may run in all. */
  constructor(
    owner: ThreadOwner,
    worker: PoolWorker,
    setup: Setup,
    { grace, mostTasks }: { readonly grace: number; readonly mostTasks: number },
  ) {
    this.#owner = owner;
    this.#mostTasks = mostTasks;
    this.#worker = worker;
    this.#grace = grace;
    const { offer, port, values, moving } = makeOffer({
      transport: this.#claims.shared ? 'ring' : 'port/port',
      capacity: CAPACITY,
      names: [],
      codec: codec.name,
      limit: LIMIT,
      patience: 10_000,
      spin: false,
    });
    this.#offer = offer;
    this.#port = port;
    this.#values = values;
    this.#stopListening.push(listen(port as unknown as Port, (data) => this.#heard(data)));
    // A browser's worker posts what moves by itself, not by the port.
    if (!worker.on) {
      this.#stopListening.push(listen(worker, (data) => this.#connection?.receive(data)));
    }
    (port as unknown as Port).unref?.();
    this.#watch(worker);
    const { buffer, shared } = this.#claims;
    const claims = shared ? buffer : undefined;
    worker.postMessage(message(offer.id, 'setup', { ...setup, offer, claims }), moving as never);
  }

  /** Whether it has ever been able to run tasks. */
  get wasReady(): boolean {
    return this.#connection !== undefined;
  }

  get ready(): boolean {
    return this.wasReady && !this.#over;
  }

  /** Whether it may be given another task. */
  get hasRoom(): boolean {
    const { outstanding } = this;
    if (this.#isBeingKilled || this.isStuck) return false;
    if (this.#tasks[this.#sent & (SLOTS - 1)] !== undefined) return false;
    if (outstanding >= this.#mostTasks - this.completed) return false;
    // What cannot be taken back is not handed over ahead.
    if (!this.#claims.shared) return outstanding === 0;
    return outstanding < LEAST_AHEAD || (this.#ahead < AHEAD && outstanding < MOST_AHEAD);
  }

  /** Whether it comes to another task before another thread could, or could be handed one. */
  get comesSoon(): boolean {
    return !this.isStuck && this.#due < Math.max(WAKING, HANDING_OVER * this.outstanding);
  }

  /** Milliseconds of work that it has. */
  get ahead(): number {
    return this.#ahead;
  }

  get side(): Side | undefined {
    return this.#connection?.side;
  }

  // --- the beginning and the end ---

  #watch(worker: PoolWorker): void {
    const lose = (why: string, cause?: unknown, exitCode?: number) =>
      this.#lose(why, cause, exitCode);
    let cause: unknown;
    const onError = (error: unknown) => {
      cause = error;
      // In a browser nothing else tells.
      if (!worker.on) {
        const said = (error as { message?: string }).message;
        if (!this.ready) lose('could not be loaded', new Error(said ?? 'the script was not found'));
      }
    };
    const onExit = (code: number) => {
      // What it has said before may come after the news of its end.
      const port = this.#port as unknown as Port;
      while (!this.ready && !this.#over) {
        const received = platform.receive?.(port);
        if (received === undefined) break;
        this.#heard(received.message);
      }
      lose(`has ended${cause === undefined ? ` with code ${code}` : ''}`, cause, code);
    };
    if (worker.on) {
      worker.on('error', onError as never);
      worker.on('exit', onExit as never);
    } else {
      worker.addEventListener?.('error', onError as never);
    }
  }

  #heard(data: unknown): void {
    const received = messageOf(data);
    if (received?.[1] !== this.#offer.id) return;
    const [, id, type, payload] = received;
    if (type === 'accept') this.#accept(payload as readonly string[]);
    else if (type === 'refuse') this.#lose('could not be loaded', payload);
    else if (type === 'retire') this.#owner.retire(this);
    else if (type === 'uncaught') console.error(payload);
    else if (type === 'alive') watchLock(id, this.#ended.signal, () => this.#lose('has ended'));
  }

  #accept(names: readonly string[]): void {
    this.#connection = new Connection({
      role: 'host',
      offer: this.#offer,
      port: this.#port,
      values: this.#values,
      base: this.#worker,
      codec,
      functions: [],
      schemas: new Map(),
      tasks: {
        take: () => {},
        stop: () => {},
        ended: (id) => this.#streamEnded(id),
      },
      ended: (reason) => this.#lose(reason),
    });
    const { paces } = this.#owner;
    this.#known = new Map(
      names.map((name, target) => [name, { target, pace: paces.named(name) }] as const),
    );
    this.#connection.side.pump();
    this.#owner.ready(this);
  }

  /** Keeps the program alive, or not. */
  hold(held: boolean): void {
    this.#worker[held ? 'ref' : 'unref']?.();
  }

  /** Ends it. What it has is dealt with as if it had ended by itself. */
  async end(why: string): Promise<void> {
    this.isEnding = true;
    // First the connection: to wake a thread that is being torn down crashes Node.
    this.#lose(why);
    await this.#worker.terminate();
  }

  #lose(why: string, cause?: unknown, exitCode?: number): void {
    if (this.#over) return;
    const connection = this.#connection;
    // What it has said before is heard still.
    connection?.side.drain();
    if (this.#over) return;
    this.#over = true;
    // What it still says of them, when the connection ends, comes too late.
    this.#streams.clear();
    const unbegun = this.takeBack(SLOTS);
    const options = cause === undefined ? undefined : { cause };
    for (const task of this.tasks()) {
      const message = `the thread that ran ${task.name}() ${why}`;
      const error = new ThreadEndedError(message, exitCode, options);
      connection?.side.forget(task.id);
      this.#drop(task);
      task.settle(error, true);
      task.release?.();
      task.stream?.fail(error);
      this.#owner.finished(this, task, true, this.#claims.runTime(task.number));
    }
    this.#ended.abort();
    for (const stop of this.#stopListening) stop();
    if (connection) connection.otherHasEnded(workerHasEnded);
    else this.#port.close();
    this.#worker.terminate();
    this.#owner.lost(this, cause ?? new ThreadEndedError(`a thread ${why}`, exitCode));
    this.#owner.returned(unbegun);
  }

  /** Those that it has, the oldest first. */
  *tasks(): Iterable<Task> {
    for (let number = this.#oldest; number < this.#sent; number++) {
      const task = this.#tasks[number & (SLOTS - 1)];
      if (task !== undefined) yield task;
    }
  }

  // --- tasks ---

  /** Hands a task over. Throws if there is no such function, or it cannot be put in bytes; then nothing has happened. */
  submit(task: Task): void {
    const { side } = this.#connection as Connection;
    const { wishes } = task;
    const inline = wishes?.inline;
    const known = inline
      ? { target: 0, pace: this.#owner.paces.inline(inline) }
      : this.#known.get(task.name);
    if (known === undefined) throw this.#unknown(task.name);
    const number = this.#sent;
    this.#claims.offer(number, task.deadline);
    side.references.isUnique = false;
    task.id =
      wishes === undefined
        ? side.submit(known.target, task.args, task)
        : side.submit(EXTENDED + known.target, this.#extended(task), task);
    if (inline) this.#defined.add(inline.id);
    task.thread = this;
    task.pace = known.pace;
    task.mean = known.pace.mean;
    task.usual = known.pace.usual;
    task.number = number;
    task.isUnique = side.references.isUnique;
    this.#tasks[number & (SLOTS - 1)] = task;
    this.#sent = number + 1;
    // It has the slot of an older one, which was taken back.
    this.#oldest = Math.max(this.#oldest, this.#sent - SLOTS);
    this.outstanding++;
    this.#ahead += task.mean;
    this.#due += task.usual;
    this.wasUsed = true;
    // A getter of its arguments may have given it up.
    if (task.settled) this.withdraw(task);
  }

  #unknown(name: string): Error {
    const names = [...this.#known.keys()].join(', ');
    const expected = names === '' ? 'that of a function, but there is none' : `one of ${names}`;
    return invalid('name', name, expected);
  }

  #extended({ wishes, args }: Task): readonly unknown[] {
    const { inline, transfer: list = [], progress } = wishes ?? {};
    const define = inline !== undefined && !this.#defined.has(inline.id) ? inline : undefined;
    const anew = define !== undefined && this.#defined.size === MOST_DEFINED ? true : undefined;
    if (anew) this.#defined.clear();
    const extras: Extras = {
      progress,
      moved: list.length > 0 ? true : undefined,
      inline: inline?.id,
      anew,
      define: define && { source: define.source, names: define.names, values: define.values },
    };
    return list.length > 0 ? [extras, transfer(args, list)] : [extras, ...args];
  }

  /** The thread's answer to a task. */
  answered(task: Task, value: unknown, failed: boolean): void {
    if (this.side?.closed) {
      // All calls fail one after the other. What has not begun can still go elsewhere.
      this.#lose('has given an answer that cannot be read', value);
      return;
    }
    if (!failed && isStream(value)) {
      this.#streams.set(task.id, task);
      task.stream = new Stream(value);
      // Nobody will read it.
      if (task.cancelled) task.stream.fail(undefined);
      const { release } = task;
      // It can still be aborted.
      task.release = undefined;
      task.settle(task.stream, false);
      task.release = release;
      return;
    }
    this.#finish(task, value, failed);
  }

  #streamEnded(id: number): void {
    const task = this.#streams.get(id);
    if (task === undefined) return;
    this.#streams.delete(id);
    task.release?.();
    this.#finish(task, undefined, false);
  }

  #finish(task: Task, value: unknown, failed: boolean): void {
    this.#drop(task);
    this.#oldest = task.number + 1;
    this.completed++;
    this.isStuck = false;
    const runTime = this.#claims.runTime(task.number);
    if (runTime !== undefined) task.pace?.took(runTime);
    task.settle(value, failed);
    this.#owner.finished(this, task, failed, runTime);
  }

  /** It has this task no more. */
  #drop(task: Task): void {
    this.#tasks[task.number & (SLOTS - 1)] = undefined;
    this.outstanding--;
    this.#ahead -= task.mean;
    this.#due -= task.usual;
    clearTimeout(task.killTimer);
    if (this.outstanding > 0) return;
    // The sums would never come to exactly nothing.
    this.#ahead = 0;
    this.#due = 0;
    this.isStuck = false;
  }

  begunAt(task: Task): number | undefined {
    return this.#claims.begunAt(task.number);
  }

  /** Takes a task back that was not begun; whether it was not. */
  withdraw(task: Task): boolean {
    if (!this.#claims.withdraw(task.number)) return false;
    this.#connection?.side.forget(task.id);
    this.#drop(task);
    return true;
  }

  /**
   * Takes back what was not begun, the last first: at most so many, and only what is less urgent than
   * `priority`. What moves something stays, since it could not be handed over again.
   */
  takeBack(most: number, priority = Number.POSITIVE_INFINITY): Task[] {
    const back: Task[] = [];
    for (let number = this.#sent - 1; number >= this.#oldest && back.length < most; number--) {
      const task = this.#tasks[number & (SLOTS - 1)];
      if (task === undefined || task.isUnique || task.priority >= priority) continue;
      // Behind the one that runs there may be one that came too late and was passed over.
      if (!this.withdraw(task)) continue;
      task.thread = undefined;
      back.push(task);
    }
    return back;
  }

  /** Asks a task that runs to stop, and sees that it does. */
  stop(task: Task, stop: Stop, reason: unknown): void {
    task.killTimer = setTimeout(() => this.#kill(task), this.#grace);
    this.#claims.stop(task.number, stop);
    this.#connection?.side.stop(task.id, reason);
  }

  /** The task has not stopped. Nothing else may be lost with it. */
  #kill(task: Task): void {
    const back = this.takeBack(SLOTS);
    // Its answer may be there, and not be read yet. Nothing new may come meanwhile.
    this.#isBeingKilled = true;
    this.#connection?.side.drain();
    this.#isBeingKilled = this.#tasks[task.number & (SLOTS - 1)] === task;
    if (this.#isBeingKilled)
      void this.end('was ended, as the task did not stop when it was aborted');
    this.#owner.returned(back);
  }
}
