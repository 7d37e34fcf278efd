/**
 * The side of a pool's thread: runs the tasks that come, one at a time, in the order in which they came.
 *
 * Invariant: no task runs that was not claimed, and none is claimed before the one before it is over.
 *
 * Cost of an empty task, beside its two frames: one exchange of a word and two readings of the clock.
 */

import { isForeign } from '../bridge/codec/value.js';
import { type AnyIterator, iterationOf } from '../bridge/references.js';
import type { AnyFunction, Side, Tasks } from '../bridge/side.js';
import { soon } from '../transport/event-loop.js';
import { isThenable } from '../transport/outcome.js';
import { type Claims, now } from './claims.js';
import { enter, Running } from './context.js';
import { rebuild } from './inline-rebuild.js';
import { type Definition, EXTENDED, type Extras } from './protocol.js';

/** The host is told of a task that has taken so many milliseconds before the next is begun. */
const PROMPT = 0.1;
/** Milliseconds between looks at the heap. */
const HEAP_INTERVAL = 50;

interface Waiting {
  readonly id: number;
  readonly number: number;
  readonly target: number;
  readonly args: readonly unknown[];
  readonly inline: AnyFunction | undefined;
}

export interface Runnable {
  readonly name: string;
  readonly call: AnyFunction;
}

export interface RunnerOptions {
  readonly claims: Claims;
  readonly functions: readonly Runnable[];
  /** Says whether this thread should be replaced; asked now and then. */
  readonly isSpent: () => boolean;
  /** Tells the host of an error that nobody waits for. */
  readonly report: (error: unknown) => void;
  /** Asks the host to replace this thread. */
  readonly retire: () => void;
}

export class Runner implements Tasks {
  side!: Side;
  readonly #options: RunnerOptions;
  readonly #claims: Claims;
  readonly #inline = new Map<number, AnyFunction>();
  #waiting: Waiting[] = [];
  #current: Running | undefined;
  /** What it has returned, if that is iterated over. */
  #streaming: Streaming | undefined;
  #taken = 0;
  #looked = 0;
  #retired = false;
  /** When the last task has ended, and in which batch of frames. */
  #endedAt = 0;
  #batch = 0;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#claims = options.claims;
  }

  take(id: number, target: number, args: readonly unknown[]): void {
    const number = this.#taken++;
    // A definition counts also if the task that brings it is taken back.
    const inline = target < EXTENDED ? undefined : this.#inlineOf(args[0] as Extras);
    if (this.#current === undefined) this.#run({ id, number, target, args, inline });
    else this.#waiting.push({ id, number, target, args, inline });
  }

  stop(id: number, reason: unknown): void {
    if (this.#current?.id === id) this.#current.stop(reason);
  }

  ended(): void {}

  /** Something has failed that nobody waits for. What runs may be to blame, and cannot be trusted. */
  failed(error: unknown): void {
    const current = this.#current;
    if (current === undefined) this.#options.report(error);
    this.#retire();
    if (current === undefined) return;
    if (this.#streaming) {
      // It is over when its reader knows.
      this.#streaming.fail(error);
      return;
    }
    this.#finish(current, error, true);
    this.#next();
  }

  #retire(): void {
    if (this.#retired) return;
    this.#retired = true;
    this.#options.retire();
  }

  #run({ id, number, target, args: given, inline }: Waiting): void {
    const claims = this.#claims;
    // Between tasks that come together no time passes, and reading the clock takes as long as a small one.
    const begun = this.#batch === this.side.batches ? this.#endedAt : now();
    const deadline = claims.deadline(number);
    // It is too late: the host takes it back.
    if (deadline !== 0 && begun > deadline) return;
    if (!claims.claim(number)) return;
    claims.begin(number, begun);
    let args = given;
    let progress: ((value: unknown) => void) | undefined;
    if (target >= EXTENDED) {
      const extras = given[0] as Extras;
      args = (extras.moved ? given[1] : given.slice(1)) as readonly unknown[];
      progress = this.#progress(extras);
    }
    const known = this.#options.functions[target & ~EXTENDED];
    const { name, call } = inline ? { name: 'inline', call: inline } : (known as Runnable);
    const running = new Running(id, number, name, progress, claims);
    this.#current = running;
    enter(running);
    let result: unknown;
    try {
      result = call(...args);
    } catch (error) {
      this.#finish(running, error, true);
      return;
    }
    if (isThenable(result)) this.#await(running, result);
    else this.#settle(running, result);
  }

  #progress({ progress }: Extras): ((value: unknown) => void) | undefined {
    if (progress === undefined) return undefined;
    return (value) => {
      const heard = progress(value) as unknown as Promise<void>;
      heard.catch(() => {});
      // A loop that keeps the event loop waiting would tell only at its end.
      this.side.deliver();
    };
  }

  #inlineOf({ inline, define, anew }: Extras): AnyFunction | undefined {
    if (inline === undefined) return undefined;
    if (anew) this.#inline.clear();
    if (define) this.#inline.set(inline, this.#rebuild(define));
    return this.#inline.get(inline);
  }

  #rebuild({ source, names, values }: Definition): AnyFunction {
    try {
      return rebuild(source, names, values) as AnyFunction;
    } catch (error) {
      // A page may forbid to make functions of text.
      return () => {
        throw error;
      };
    }
  }

  #await(running: Running, promise: PromiseLike<unknown>): void {
    const later = (deal: () => void) => {
      // A failure elsewhere may have ended it.
      if (this.#current !== running) return;
      deal();
      this.#next();
    };
    Promise.resolve(promise).then(
      (value) => later(() => this.#settle(running, value)),
      (error) => later(() => this.#finish(running, error, true)),
    );
  }

  /** The task has its result, which may have to be iterated over. */
  #settle(running: Running, result: unknown): void {
    const iterate = isForeign(result) ? iterationOf(result) : undefined;
    if (iterate === undefined) {
      this.#finish(running, result, false);
      return;
    }
    const stream = new Streaming(iterate(), () => {
      if (this.#current !== running) return;
      this.#leave(running);
      this.side.ended(running.id);
      this.#next();
    });
    this.#streaming = stream;
    this.side.answer(running.id, 0, stream);
  }

  #finish(running: Running, value: unknown, failed: boolean): void {
    const took = this.#leave(running);
    if (failed) this.side.fail(running.id, value);
    else this.side.answer(running.id, 0, value);
    if (took > PROMPT) this.side.deliver();
  }

  /** The task is over. Returns how many milliseconds it has taken. */
  #leave(running: Running): number {
    const ended = now();
    this.#endedAt = ended;
    this.#batch = this.side.batches;
    const took = this.#claims.end(running.number, ended);
    this.#current = undefined;
    this.#streaming = undefined;
    enter(undefined);
    if (ended - this.#looked > HEAP_INTERVAL) {
      this.#looked = ended;
      if (this.#options.isSpent()) this.#retire();
    }
    return took;
  }

  /** In a turn of its own: those that have come meanwhile. */
  #next(): void {
    while (this.#current === undefined && this.#waiting.length > 0) {
      this.#run(this.#waiting.shift() as Waiting);
    }
    this.side.answeredLater();
  }
}

/**
 * What a task returned to be iterated over; tells when that is over, and the reader knows.
 *
 * Invariant: the source is asked for one step at a time. Readers ask ahead; when they leave, what they have
 * asked for and was not begun is not made.
 */
class Streaming implements AsyncIterator<unknown> {
  readonly #source: AnyIterator;
  readonly #over: () => void;
  /** The last step that was asked for. */
  #last: Promise<unknown> = Promise.resolve();
  #isLeft = false;
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  /** Fails the step that is under way. */
  #failStep: (error: unknown) => void = () => {};

  constructor(source: AnyIterator, over: () => void) {
    this.#source = source;
    this.#over = over;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(value?: unknown): Promise<Step> {
    return this.#step(() => this.#source.next(value), 'unless left');
  }

  return(value?: unknown): Promise<Step> {
    this.#isLeft = true;
    return this.#step(() => this.#source.return?.(value) ?? { done: true, value });
  }

  /** Something has failed that nobody waits for: whoever reads learns of it. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#failStep(error);
  }

  #step(step: () => Step | Promise<Step>, when?: 'unless left'): Promise<Step> {
    const result = this.#last.then(async () => {
      if (this.#failure) throw this.#failure.error;
      if (this.#isOver || (when === 'unless left' && this.#isLeft)) return end;
      const failed = new Promise<never>((_, reject) => {
        this.#failStep = reject;
      });
      const { done, value } = await Promise.race([step(), failed]);
      if (done) this.#end();
      return { done: done === true, value: await value };
    });
    this.#last = result.catch(() => this.#end());
    return result;
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // When those that were asked for ahead have been answered.
    soon(this.#over);
  }
}

type Step = IteratorResult<unknown, unknown>;

const end: Step = { done: true, value: undefined };
