/**
 * Models two threads and their shared memory: executes `Atomics` operations one at a time, in an order that the search
 * chooses.
 *
 * Only operations on shared words are steps. For all other accesses, the model checks that the thread owns the byte. A
 * thread loses a byte only by its own step, so an access that is allowed now is allowed at any moment until its next
 * step, and the order of these accesses need not be explored. Two threads never own the same byte, so a machine that
 * reorders memory accesses has no other outcomes.
 */

import { Memory } from '../memory.js';
import { CONTROL } from '../ring.js';

/** Thrown when the ring violates an invariant. */
export class Violation extends Error {}

/** Offset and size of the ring's data. The ring is small, so that few frames wrap around. */
export const data = CONTROL;
export const capacity = 256;
const TAIL = 0;
const HEAD = 16;
const wordNames = new Map([
  [TAIL, 'TAIL'],
  [HEAD, 'HEAD'],
  [32, 'READER'],
  [48, 'WRITER'],
]);

export type Role = 'writer' | 'reader';
export type Steps<T = void> = Generator<string, T, void>;

/** Stands for the promise of `Atomics.waitAsync`. */
interface Token {
  readonly word: number;
  resolved: boolean;
}

/** A task of a thread's event loop. It continues when the thread is idle and `until` has resolved. */
interface Task {
  readonly name: string;
  readonly steps: Steps<unknown>;
  until: Token | undefined;
}

/** A possible next step. */
export interface Choice {
  readonly name: string;
  /** Whether the step is the timeout of a sleep. */
  readonly ends?: boolean;
  take(): void;
}

/** The code of one thread. */
export interface Side {
  /** Handles a message. */
  receive(): Steps<unknown>;
  /** All state that determines the future, except what the running task has observed. */
  state(): readonly unknown[];
}

export class Thread {
  /** Unfinished tasks. While one runs, the others wait. */
  readonly tasks: Task[] = [];
  readonly messages: string[] = [];
  running: Task | undefined;
  /** The word at which the whole thread sleeps. */
  asleep: number | undefined;
  timedOut = false;
  /** The running task's last recorded state, and the values that it has observed since. */
  observed = '';
  /** The operation that the thread is about to perform. */
  next = '';

  constructor(readonly role: Role) {}
}

export class Shared {
  readonly buffer = new ArrayBuffer(data + capacity);
  readonly words = new Int32Array(this.buffer);
  readonly #bytes = new Uint8Array(this.buffer);
  readonly memory = {
    buffer: this.buffer,
    i32: this.#guard(this.words, 4),
    u8: this.#guard(this.#bytes, 1),
    f64: new Float64Array(this.buffer),
    view: new DataView(this.buffer),
    text: undefined,
    encodable: true,
  } as Memory;
  readonly waitAsync:
    | ((words: Int32Array, index: number, value: number) => Steps<Async>)
    | undefined;
  writer = new Thread('writer');
  reader = new Thread('reader');
  #current: Thread | undefined;
  #sides: Record<Role, Side> | undefined;

  /** `waitsAsync`: whether the runtime has `Atomics.waitAsync`. */
  constructor(waitsAsync: boolean) {
    this.waitAsync = waitsAsync ? (_, index, value) => this.#waitAsync(index, value) : undefined;
  }

  /** Resets the model, with both counters at `from`. */
  reset(from: number): void {
    this.#bytes.fill(0xee);
    this.words.fill(0, 0, data >> 2);
    this.words[TAIL] = from;
    this.words[HEAD] = from;
    this.writer = new Thread('writer');
    this.reader = new Thread('reader');
    this.#current = undefined;
  }

  attach(sides: Record<Role, Side>): void {
    this.#sides = sides;
  }

  // --- ownership of bytes ---

  #check(from: number, to: number, action: string): void {
    const thread = this.#current;
    if (thread === undefined || to <= from) return;
    if (from < data) throw new Violation(`the ${thread.role} ${action} a control word as data`);
    const tail = this.words[TAIL] as number;
    const head = this.words[HEAD] as number;
    const used = (tail - head) | 0;
    // The `used` bytes after HEAD belong to the reader, the others to the writer.
    for (let at = from; at < to; at++) {
      const offset = (at - data - head) & (capacity - 1);
      if (offset < used === (thread.role === 'reader')) continue;
      throw new Violation(
        `the ${thread.role} ${action} byte ${at - data}, which is the ${other(thread.role)}'s`,
      );
    }
  }

  /** Returns a proxy of the array that checks the ownership of each access. */
  #guard<T extends Int32Array | Uint8Array>(array: T, size: number): T {
    const check = (index: number, end: number, action: string) =>
      this.#check(index * size, end * size, action);
    const parts: Record<string, unknown> = {
      length: array.length,
      set: (values: Uint8Array, at: number) => {
        check(at, at + values.length, 'writes');
        array.set(values, at);
      },
      subarray: (from: number, to: number) => {
        check(from, to, 'reads');
        return array.subarray(from, to);
      },
    };
    return new Proxy(array, {
      get: (_, key) => {
        const index = Number(key as string);
        if (Number.isNaN(index)) {
          if (!((key as string) in parts)) throw new Error(`not modelled: ${String(key)}`);
          return parts[key as string];
        }
        check(index, index + 1, 'reads');
        return array[index];
      },
      set: (_, key, value) => {
        const index = Number(key as string);
        check(index, index + 1, 'writes');
        array[index] = value;
        return true;
      },
    });
  }

  // --- Atomics ---

  initial(_: Int32Array, index: number): number {
    return this.words[index] as number;
  }

  *load(_: Int32Array, index: number): Steps<number> {
    yield `loads ${wordNames.get(index)}`;
    return this.#observe(this.words[index] as number);
  }

  *store(_: Int32Array, index: number, value: number): Steps {
    yield `stores ${value} in ${wordNames.get(index)}`;
    this.#observe('.');
    this.#move(index, value);
    this.words[index] = value;
  }

  *exchange(_: Int32Array, index: number, value: number): Steps<number> {
    yield `exchanges ${wordNames.get(index)} for ${value}`;
    const found = this.words[index] as number;
    this.words[index] = value;
    return this.#observe(found);
  }

  *compareExchange(_: Int32Array, index: number, from: number, to: number): Steps<number> {
    yield `changes ${wordNames.get(index)} from ${from} to ${to}`;
    const found = this.words[index] as number;
    if (found === from) this.words[index] = to;
    return this.#observe(found);
  }

  *wait(_: Int32Array, index: number, value: number): Steps<string> {
    yield `waits at ${wordNames.get(index)} if it is ${value}`;
    if (this.words[index] !== value) return this.#observe('not-equal');
    const thread = this.#current as Thread;
    thread.asleep = index;
    yield `wakes up at ${wordNames.get(index)}`;
    const result = thread.timedOut ? 'timed-out' : 'ok';
    thread.timedOut = false;
    return this.#observe(result);
  }

  *notify(_: Int32Array, index: number): Steps {
    yield `notifies ${wordNames.get(index)}`;
    this.#observe('!');
    for (const thread of [this.writer, this.reader]) {
      if (thread.asleep === index) thread.asleep = undefined;
      for (const { until } of thread.tasks) if (until?.word === index) until.resolved = true;
    }
  }

  *#waitAsync(index: number, value: number): Steps<Async> {
    yield `waits in the event loop at ${wordNames.get(index)} if it is ${value}`;
    if (this.words[index] !== value) {
      return { async: false, value: this.#observe('not-equal') };
    }
    this.#observe('async');
    return { async: true, value: { word: index, resolved: false } };
  }

  /** Checks that the writer moves TAIL and the reader HEAD, and that neither goes back or too far. */
  #move(index: number, value: number): void {
    if (index !== TAIL && index !== HEAD) return;
    const role = index === TAIL ? 'writer' : 'reader';
    if (this.#current?.role !== role) {
      throw new Violation(`the ${other(role)} moves ${wordNames.get(index)}`);
    }
    const used = index === TAIL ? value - (this.words[HEAD] ?? 0) : (this.words[TAIL] ?? 0) - value;
    const moved = (value - (this.words[index] as number)) | 0;
    if (moved < 0 || (used | 0) < 0 || (used | 0) > capacity) {
      throw new Violation(
        `${wordNames.get(index)} moves by ${moved}, so that ${used | 0} are used`,
      );
    }
  }

  #observe<T extends string | number>(value: T): T {
    (this.#current as Thread).observed += `${value},`;
    return value;
  }

  // --- the event loop ---

  /** Suspends the running task, as `await` does. */
  *settled(value: unknown): Steps {
    const task = (this.#current as Thread).running as Task;
    const never = { word: -1, resolved: false };
    const now = { word: -1, resolved: true };
    task.until = isToken(value) ? value : value instanceof Promise ? never : now;
    yield 'returns to the event loop';
  }

  /** Adds a task to a thread's event loop. */
  addTask(role: Role, name: string, steps: Steps<unknown>): void {
    this[role].tasks.push({ name, steps, until: undefined });
  }

  /** Adds a task to the event loop of the running thread. */
  spawn(name: string, steps: Steps<unknown>): void {
    this.addTask((this.#current as Thread).role, name, steps);
  }

  /** Side an asynchronous function up to its first `await`; the rest becomes a task. */
  *fork(name: string, steps: Steps<unknown>): Steps {
    const thread = this.#current as Thread;
    const caller = thread.running as Task;
    const task: Task = { name, steps, until: undefined };
    for (;;) {
      thread.running = task;
      const { done, value } = steps.next();
      thread.running = caller;
      if (task.until) thread.tasks.push(task);
      if (done || task.until) return;
      yield value;
    }
  }

  post(to: Role, message: string): void {
    this[to].messages.push(message);
  }

  /** Records the full state of the running task, so that its earlier observations no longer matter. */
  checkpoint(...state: readonly unknown[]): void {
    const thread = this.#current as Thread;
    thread.observed = `${thread.running?.name}:${state}${this.#state(thread)}`;
  }

  #side(role: Role): Side {
    return (this.#sides as Record<Role, Side>)[role];
  }

  #state({ role }: Thread): string {
    return JSON.stringify(this.#side(role).state().map(digest));
  }

  /** Returns the possible next steps of a thread. `timeouts`: whether a sleep may time out. */
  choices(thread: Thread, timeouts: boolean): Choice[] {
    const { role, running } = thread;
    if (running) {
      if (thread.asleep !== undefined) {
        if (!timeouts) return [];
        const take = () => {
          thread.asleep = undefined;
          thread.timedOut = true;
          this.#step(thread, running);
        };
        return [{ name: `the ${role}'s sleep times out`, take, ends: true }];
      }
      return [{ name: `the ${role} ${thread.next}`, take: () => this.#step(thread, running) }];
    }
    const begin = (task: Task) => () => {
      thread.running = task;
      task.until = undefined;
      thread.observed = `${task.name}${this.#state(thread)}`;
      this.#step(thread, task);
    };
    const ready = thread.tasks.filter(({ until }) => until === undefined || until.resolved);
    const choices: Choice[] = ready.map((task) => ({
      name: `the ${role} begins: ${task.name}`,
      take: begin(task),
    }));
    const [message] = thread.messages;
    if (message !== undefined) {
      const take = () => {
        thread.messages.shift();
        const steps = this.#side(role).receive();
        const task = { name: `message ${message}`, steps, until: undefined };
        thread.tasks.push(task);
        begin(task)();
      };
      choices.push({ name: `the ${role} receives: ${message}`, take });
    }
    return choices;
  }

  /** Side one step of a task: up to the next operation on a shared word, or until it waits. */
  #step(thread: Thread, task: Task): void {
    this.#current = thread;
    const { done, value } = task.steps.next();
    thread.next = done ? '' : value;
    if (done) thread.tasks.splice(thread.tasks.indexOf(task), 1);
    if (done || task.until) {
      thread.running = undefined;
      thread.observed = this.#state(thread);
    }
    this.#current = undefined;
  }

  /** Returns a text that identifies the state: equal signatures have equal futures. */
  signature(): string {
    const head = this.words[HEAD] as number;
    const used = ((this.words[TAIL] as number) - head) | 0;
    let bytes = '';
    for (let i = 0; i < used; i++) {
      bytes += String.fromCharCode(this.#bytes[data + ((head + i) & (capacity - 1))] as number);
    }
    const [tail, reader, writer] = [this.words[TAIL], this.words[32], this.words[48]];
    const threads = [this.writer, this.reader].map((thread) => {
      const tasks = thread.tasks.map(
        ({ name, until }) => `${name}:${until && `${until.word}${until.resolved}`}`,
      );
      const running = thread.running && thread.tasks.indexOf(thread.running);
      const { messages, asleep, timedOut, observed, next } = thread;
      return `${tasks};${messages};${running};${asleep};${timedOut};${observed};${next}`;
    });
    return `${head},${tail},${reader},${writer}|${threads.join('|')}|${bytes}`;
  }
}

/** Reduces a field to the parts that influence its thread's future. */
function digest(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (value instanceof Memory) return value.u8.join();
  if (value instanceof Uint8Array) return value.join();
  if (Array.isArray(value)) return value.map(digest);
  if (typeof value !== 'object' || value === null) return '';
  if (value instanceof Int32Array || 'memory' in value) return '';
  return Object.values(value).map(digest);
}

interface Async {
  readonly async: boolean;
  readonly value: string | Token;
}

function isToken(value: unknown): value is Token {
  return typeof value === 'object' && value !== null && 'resolved' in value;
}

function other(role: Role): Role {
  return role === 'writer' ? 'reader' : 'writer';
}
