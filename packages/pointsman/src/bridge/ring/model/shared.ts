/**
 * Memory that two threads share, and the threads: what `Atomics` does, one operation at a time, in an
 * order that somebody else decides.
 *
 * Only operations on shared words are steps. All else is checked instead: whoever reads or writes a
 * byte must own it at that moment. As a thread's own bytes become fewer only by what it does itself, an
 * access that is allowed now would be allowed at any moment until its thread's next step, so the order
 * of accesses need not be explored; and since two threads never own the same byte, no machine that
 * reorders memory shows anything else than what is explored here.
 */

import { Memory } from '../memory.js';
import { CONTROL } from '../ring.js';

/** A law is broken. */
export class Violation extends Error {}

/** Where the model's ring lies, and how large it is: small, so that few frames go round it. */
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

/** What `Atomics.waitAsync` gives for a promise. */
interface Token {
  readonly word: number;
  resolved: boolean;
}

/** Code in the event loop of a thread. It goes on when the loop is free and `until` has resolved. */
interface Task {
  readonly name: string;
  readonly steps: Steps<unknown>;
  until: Token | undefined;
}

/** What can happen next. */
export interface Choice {
  readonly name: string;
  /** Whether a sleep ends by its time. */
  readonly ends?: boolean;
  take(): void;
}

/** What runs in a thread. */
export interface Runs {
  /** A message has come. */
  receive(): Steps<unknown>;
  /** What decides about the future, beside what the running task has seen. */
  state(): readonly unknown[];
}

export class Thread {
  /** Not finished; the one that runs keeps the others waiting. */
  readonly tasks: Task[] = [];
  readonly messages: string[] = [];
  running: Task | undefined;
  /** The word at which the thread sleeps, with all that is in it. */
  asleep: number | undefined;
  timedOut = false;
  /** What the running task has seen since its state was last written down, and that state. */
  seen = '';
  /** What it is about to do. */
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
  #sides: Record<Role, Runs> | undefined;

  /** `waitsAsync`: whether the runtime has `Atomics.waitAsync`. */
  constructor(waitsAsync: boolean) {
    this.waitAsync = waitsAsync ? (_, index, value) => this.#waitAsync(index, value) : undefined;
  }

  /** Everything is as in the beginning, with both counters at `from`. */
  reset(from: number): void {
    this.#bytes.fill(0xee);
    this.words.fill(0, 0, data >> 2);
    this.words[TAIL] = from;
    this.words[HEAD] = from;
    this.writer = new Thread('writer');
    this.reader = new Thread('reader');
    this.#current = undefined;
  }

  attach(sides: Record<Role, Runs>): void {
    this.#sides = sides;
  }

  // --- who owns what ---

  #check(from: number, to: number, action: string): void {
    const thread = this.#current;
    if (thread === undefined || to <= from) return;
    if (from < data) throw new Violation(`the ${thread.role} ${action} a control word as data`);
    const tail = this.words[TAIL] as number;
    const head = this.words[HEAD] as number;
    const taken = (tail - head) | 0;
    // The reader's bytes, and those that follow, up to twice around.
    for (let at = from; at < to; at++) {
      const offset = (at - data - head) & (capacity - 1);
      if (offset < taken === (thread.role === 'reader')) continue;
      throw new Violation(
        `the ${thread.role} ${action} byte ${at - data}, which is the ${other(thread.role)}'s`,
      );
    }
  }

  /** The same array, with a look at who touches what. */
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
          if (!((key as string) in parts)) throw new Error(`not in the model: ${String(key)}`);
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
    return this.#see(this.words[index] as number);
  }

  *store(_: Int32Array, index: number, value: number): Steps {
    yield `stores ${value} in ${wordNames.get(index)}`;
    this.#see('.');
    this.#move(index, value);
    this.words[index] = value;
  }

  *exchange(_: Int32Array, index: number, value: number): Steps<number> {
    yield `exchanges ${wordNames.get(index)} for ${value}`;
    const found = this.words[index] as number;
    this.words[index] = value;
    return this.#see(found);
  }

  *compareExchange(_: Int32Array, index: number, from: number, to: number): Steps<number> {
    yield `changes ${wordNames.get(index)} from ${from} to ${to}`;
    const found = this.words[index] as number;
    if (found === from) this.words[index] = to;
    return this.#see(found);
  }

  *wait(_: Int32Array, index: number, value: number): Steps<string> {
    yield `waits at ${wordNames.get(index)} if it is ${value}`;
    if (this.words[index] !== value) return this.#see('not-equal');
    const thread = this.#current as Thread;
    thread.asleep = index;
    yield `wakes up at ${wordNames.get(index)}`;
    const result = thread.timedOut ? 'timed-out' : 'ok';
    thread.timedOut = false;
    return this.#see(result);
  }

  *notify(_: Int32Array, index: number): Steps {
    yield `notifies ${wordNames.get(index)}`;
    this.#see('!');
    for (const thread of [this.writer, this.reader]) {
      if (thread.asleep === index) thread.asleep = undefined;
      for (const { until } of thread.tasks) if (until?.word === index) until.resolved = true;
    }
  }

  *#waitAsync(index: number, value: number): Steps<Async> {
    yield `waits in the event loop at ${wordNames.get(index)} if it is ${value}`;
    if (this.words[index] !== value) {
      return { async: false, value: this.#see('not-equal') };
    }
    this.#see('async');
    return { async: true, value: { word: index, resolved: false } };
  }

  /** TAIL is the writer's and HEAD the reader's; neither goes back, and neither too far. */
  #move(index: number, value: number): void {
    if (index !== TAIL && index !== HEAD) return;
    const role = index === TAIL ? 'writer' : 'reader';
    if (this.#current?.role !== role) {
      throw new Violation(`the ${other(role)} moves ${wordNames.get(index)}`);
    }
    const taken =
      index === TAIL ? value - (this.words[HEAD] ?? 0) : (this.words[TAIL] ?? 0) - value;
    const moved = (value - (this.words[index] as number)) | 0;
    if (moved < 0 || (taken | 0) < 0 || (taken | 0) > capacity) {
      throw new Violation(
        `${wordNames.get(index)} moves by ${moved}, so that ${taken | 0} are taken`,
      );
    }
  }

  #see<T extends string | number>(value: T): T {
    (this.#current as Thread).seen += `${value},`;
    return value;
  }

  // --- the event loop ---

  /** What comes after an `await`. */
  *settled(value: unknown): Steps {
    const task = (this.#current as Thread).running as Task;
    const never = { word: -1, resolved: false };
    const now = { word: -1, resolved: true };
    task.until = isToken(value) ? value : value instanceof Promise ? never : now;
    yield 'returns to the event loop';
  }

  /** The thread has this to do in its event loop. */
  begin(role: Role, name: string, steps: Steps<unknown>): void {
    this[role].tasks.push({ name, steps, until: undefined });
  }

  /** The same for the thread that runs, once it returns there. */
  spawn(name: string, steps: Steps<unknown>): void {
    this.begin((this.#current as Thread).role, name, steps);
  }

  /** Runs an asynchronous function up to its first `await`; the rest runs when that is settled. */
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

  /** Writes down the state of the running task in full: what it has seen before matters no more. */
  point(...state: readonly unknown[]): void {
    const thread = this.#current as Thread;
    thread.seen = `${thread.running?.name}:${state}${this.#state(thread)}`;
  }

  #runs(role: Role): Runs {
    return (this.#sides as Record<Role, Runs>)[role];
  }

  #state({ role }: Thread): string {
    return JSON.stringify(this.#runs(role).state().map(digest));
  }

  /** What a thread can do now, each with a name. A sleeper may have `timeouts` that are up. */
  choices(thread: Thread, timeouts: boolean): Choice[] {
    const { role, running } = thread;
    if (running) {
      if (thread.asleep !== undefined) {
        if (!timeouts) return [];
        const take = () => {
          thread.asleep = undefined;
          thread.timedOut = true;
          this.#go(thread, running);
        };
        return [{ name: `the ${role} has slept long enough`, take, ends: true }];
      }
      return [{ name: `the ${role} ${thread.next}`, take: () => this.#go(thread, running) }];
    }
    const begin = (task: Task) => () => {
      thread.running = task;
      task.until = undefined;
      thread.seen = `${task.name}${this.#state(thread)}`;
      this.#go(thread, task);
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
        const steps = this.#runs(role).receive();
        const task = { name: `message ${message}`, steps, until: undefined };
        thread.tasks.push(task);
        begin(task)();
      };
      choices.push({ name: `the ${role} receives: ${message}`, take });
    }
    return choices;
  }

  /** One step of a task: to the next operation on a shared word, or to where it waits. */
  #go(thread: Thread, task: Task): void {
    this.#current = thread;
    const { done, value } = task.steps.next();
    thread.next = done ? '' : value;
    if (done) thread.tasks.splice(thread.tasks.indexOf(task), 1);
    if (done || task.until) {
      thread.running = undefined;
      thread.seen = this.#state(thread);
    }
    this.#current = undefined;
  }

  /** Two states with the same signature have the same future. */
  signature(): string {
    const head = this.words[HEAD] as number;
    const taken = ((this.words[TAIL] as number) - head) | 0;
    let bytes = '';
    for (let i = 0; i < taken; i++) {
      bytes += String.fromCharCode(this.#bytes[data + ((head + i) & (capacity - 1))] as number);
    }
    const [tail, reader, writer] = [this.words[TAIL], this.words[32], this.words[48]];
    const threads = [this.writer, this.reader].map((thread) => {
      const tasks = thread.tasks.map(
        ({ name, until }) => `${name}:${until && `${until.word}${until.resolved}`}`,
      );
      const running = thread.running && thread.tasks.indexOf(thread.running);
      const { messages, asleep, timedOut, seen, next } = thread;
      return `${tasks};${messages};${running};${asleep};${timedOut};${seen};${next}`;
    });
    return `${head},${tail},${reader},${writer}|${threads.join('|')}|${bytes}`;
  }
}

/** What of a field makes a difference to what its thread will do. */
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
