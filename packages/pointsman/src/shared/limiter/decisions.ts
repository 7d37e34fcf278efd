/**
 * The questions of a limiter to its store, each with a deadline.
 *
 * Invariants:
 * - Of each question, one of `decided` and `undecided` is called once, unless it is dropped: within `deadline`
 *   milliseconds of the question.
 * - What the store grants to a question that is over by then is given back.
 * - Giving back is never sent twice, because a second copy would give back what others use.
 */

import { StoreError } from '../errors.js';
import type { Operation } from '../protocol/protocol.js';
import type { StartGroup, StartRequest, StartResult } from '../protocol/starts.js';
import type { BaseStore } from '../store.js';
import { StartStream } from './stream.js';

type Start = Operation & { readonly name: 'start' };

export interface Asker {
  /** What the store has decided; `sentAt`: when the question was sent, by `performance.now()`. */
  decided(result: StartResult, sentAt: number): void;
  /** The store has not decided in time, or refuses. */
  undecided(error: StoreError): void;
}

export class Question {
  /** Whether the store's answer is no longer awaited. */
  isOver = false;
  /** The number of requests that wait for the answer, if its asker counts them. */
  askers = 1;
  readonly asker: Asker;
  readonly begun = performance.now();
  #start: Start | undefined;
  #sentAt = 0;
  readonly #make: () => StartRequest;

  constructor(make: () => StartRequest, asker: Asker) {
    this.#make = make;
    this.asker = asker;
  }

  operation(): Start | undefined {
    if (this.isOver) return undefined;
    this.#sentAt = performance.now();
    this.#start = { name: 'start', ...this.#make() };
    return this.#start;
  }

  get groups(): readonly StartGroup[] {
    return this.#start?.groups ?? [];
  }

  get sentAt(): number {
    return this.#sentAt;
  }
}

export class Decisions {
  readonly #store: BaseStore;
  readonly #label: string;
  readonly #deadline: number;
  readonly #counter: { batches: number };
  #stream: StartStream | undefined;
  /** In the order of the questions. */
  readonly #questions = new Set<Question>();
  /** Corrections that the store has not acknowledged. */
  readonly #told = new Set<Promise<void>>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(store: BaseStore, label: string, deadline: number, counter: { batches: number }) {
    this.#store = store;
    this.#label = label;
    this.#deadline = deadline;
    this.#counter = counter;
  }

  /** `make` is called for each time that the question is sent. */
  ask(make: () => StartRequest, asker: Asker): Question {
    const question = new Question(make, asker);
    this.#questions.add(question);
    this.#arm();
    this.#open().send({
      operation: () => question.operation(),
      done: (result) => {
        const { groups, isOver } = question;
        const start = result as StartResult;
        if (isOver) {
          if (start.at.length > 0) this.giveBack(groups, start.at, start.count);
          return;
        }
        this.drop(question);
        asker.decided(start, question.sentAt);
      },
      failed: (error) => this.#fail(question, error),
      lost: () => this.#fail(question, this.#error('the connection was lost')),
    });
    return question;
  }

  /** Ends a question without an answer. What it may be granted is given back. */
  drop(question: Question): void {
    question.isOver = true;
    this.#questions.delete(question);
  }

  /** Gives back what `count` starts took. */
  giveBack(groups: readonly StartGroup[], at: readonly number[], count = 1): void {
    const negative = groups.map((group) => ({
      ...group,
      weights: group.weights.map((weight) => -weight * count),
    }));
    let isSent = false;
    this.#tell(() => {
      if (isSent) return undefined;
      isSent = true;
      return { name: 'correct', groups: negative, at };
    });
  }

  /** Counts further weight from now on. */
  add(groups: readonly StartGroup[]): void {
    this.#tell(() => ({ name: 'correct', groups, at: groups.map(() => 0) }));
  }

  /** Resolves when the store has done it, and rejects if it refuses or has not done it by the deadline. */
  penalize(limiter: string, time: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const end = (error?: unknown): void => {
        isOver = true;
        clearTimeout(timer);
        if (error === undefined) resolve();
        else reject(error);
      };
      const timer = setTimeout(() => end(this.#late()), this.#deadline);
      this.#open().send({
        operation: () => (isOver ? undefined : { name: 'penalize', limiter, time }),
        done: () => end(),
        failed: end,
        lost: () => end(this.#late()),
      });
    });
  }

  /** Resolves when what was given back has reached the store, or at the deadline. */
  async close(): Promise<void> {
    for (const question of this.#questions) this.drop(question);
    clearTimeout(this.#timer);
    const stream = this.#stream;
    if (stream === undefined) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, this.#deadline);
    });
    await Promise.race([Promise.all(this.#told), late]);
    clearTimeout(timer);
    await stream.close();
  }

  #open(): StartStream {
    this.#stream ??= new StartStream(this.#store, this.#label, this.#counter);
    return this.#stream;
  }

  #tell(operation: () => Operation | undefined): void {
    const told = new Promise<void>((resolve) => {
      this.#open().send({
        operation: () => {
          const sent = operation();
          // It may have reached the store; there will be no reply.
          if (sent === undefined) resolve();
          return sent;
        },
        done: () => resolve(),
        failed: () => resolve(),
        lost: resolve,
      });
    });
    this.#told.add(told);
    void told.then(() => this.#told.delete(told));
  }

  #fail(question: Question, error: StoreError): void {
    if (question.isOver) return;
    this.drop(question);
    question.asker.undecided(error);
  }

  #error(message: string): StoreError {
    const cause = this.#stream?.trouble;
    return new StoreError(`${this.#label}${message}`, { cause });
  }

  #late(): StoreError {
    return this.#error(`the store has not decided within ${this.#deadline} ms`);
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#questions.size === 0) return;
    const [first] = this.#questions as Iterable<Question>;
    const left = (first as Question).begun + this.#deadline - performance.now();
    const after = Math.min(Math.max(Math.ceil(left), 0), 2 ** 31 - 1);
    this.#timer = setTimeout(() => this.#check(), after);
  }

  #check(): void {
    this.#timer = undefined;
    const due = performance.now() - this.#deadline;
    for (const question of this.#questions) {
      if (question.begun > due) break;
      this.#fail(question, this.#late());
      this.#stream?.checkSilence(this.#deadline);
    }
    this.#arm();
  }
}
