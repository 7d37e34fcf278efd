/**
 * The questions of a limiter to its store, each with a deadline.
 *
 * Invariants:
 * - Of each question, one of `decided` and `undecided` is called once, unless it is dropped: within `deadline`
 *   milliseconds of the question.
 * - What the store grants to a question that is over by then is given back.
 * - Giving back is never sent twice, and not to another run of the store, which may have lost the start: it would give
 *   back what others use.
 */

import { StoreError } from '../errors.js';
import type { Operation } from '../protocol/protocol.js';
import type { StartGroup, StartResult } from '../protocol/starts.js';
import type { PendingOperation } from '../session/batches.js';
import { timerDelay } from '../session/time.js';
import type { BaseStore } from '../store.js';
import { StartStream } from './stream.js';

type Start = Operation & { readonly name: 'start' };
export type StartTerms = Omit<Start, 'name'>;

/** How operations travel to the store. */
export interface Route {
  readonly closed: boolean;
  /** See `Link.run`. */
  readonly run: unknown;
  /** Why the store cannot be reached, if it is known. */
  readonly trouble: unknown;
  send(operation: PendingOperation): void;
  /** Connects again if the store has been silent for so long that the connection may be half-open. */
  checkSilence(patience: number): void;
}

/** What the store has decided about the groups of a question. */
export interface Decision extends StartResult {
  readonly groups: readonly StartGroup[];
  /** The run of the store that has decided. */
  readonly run: unknown;
}

/** A granted start: the moments of its groups identify it. */
export type Grant = Pick<Decision, 'groups' | 'at' | 'run'>;

export interface Asker {
  /** `sentAt`: when the question was sent, by `performance.now()`. */
  decided(decision: Decision, sentAt: number): void;
  /** The store has not decided in time, or refuses. */
  undecided(error: StoreError): void;
}

export class Question {
  /** Whether the store's answer is no longer awaited. */
  isOver = false;
  /** The number of requests that wait for the answer, if its asker counts them. */
  askers = 1;
  readonly asker: Asker;
  readonly route: Route;
  readonly begun = performance.now();
  #start: Start | undefined;
  #sentAt = 0;
  readonly #make: () => StartTerms;

  constructor(make: () => StartTerms, asker: Asker, route: Route) {
    this.#make = make;
    this.asker = asker;
    this.route = route;
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
  /** The operations without a reply. A grant that arrives too late is returned. */
  readonly #pending = new Set<Promise<void>>();
  #closed: { readonly reason: unknown } | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(store: BaseStore, label: string, deadline: number, counter: { batches: number }) {
    this.#store = store;
    this.#label = label;
    this.#deadline = deadline;
    this.#counter = counter;
  }

  /** `make` is called for each time that the question is sent. */
  ask(make: () => StartTerms, asker: Asker, route: Route = this.#open()): Question {
    const question = new Question(make, asker, route);
    this.#questions.add(question);
    this.#arm();
    const answered = this.#begin();
    const operation: PendingOperation = {
      operation: () => {
        const start = question.operation();
        if (start === undefined) answered();
        return start;
      },
      done: (result) => {
        answered();
        const { groups, isOver } = question;
        const decision = { ...(result as StartResult), groups, run: route.run };
        if (isOver) {
          if (decision.at.length > 0) this.giveBack(decision, decision.count);
          return;
        }
        this.drop(question);
        asker.decided(decision, question.sentAt);
      },
      failed: (error) => {
        answered();
        this.#fail(question, error);
      },
      lost: () => {
        // If the store has forgotten the session, the reply is lost too.
        if (question.isOver || route.closed) answered();
        else route.send(operation);
      },
    };
    route.send(operation);
    return question;
  }

  /** Ends a question without an answer. What it may be granted is given back. */
  drop(question: Question): void {
    question.isOver = true;
    this.#questions.delete(question);
  }

  /** Gives back what `count` starts took, unless the store may have lost them. */
  giveBack({ groups, at, run }: Grant, count = 1): void {
    const negative = groups.map((group) => ({
      ...group,
      weights: group.weights.map((weight) => -weight * count),
    }));
    let isSent = false;
    this.#tell(() => {
      // After a lost connection it may have been applied.
      if (isSent || run !== this.#open().run) return undefined;
      isSent = true;
      return { name: 'correct', groups: negative, at };
    });
  }

  /** Counts further weight from now on. */
  add(groups: readonly StartGroup[]): void {
    this.#tell(() => ({ name: 'correct', groups, at: groups.map(() => 0) }));
  }

  /** Resolves when the store has done it, and rejects if it refuses or has not done it by the deadline, or on `close`. */
  penalize(limiter: string, time: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const end = (error?: unknown): void => {
        isOver = true;
        clearTimeout(timer);
        if (error === undefined) resolve();
        else reject(error);
      };
      const timer = setTimeout(() => end(this.#late()), timerDelay(this.#deadline));
      this.#open().send({
        operation: () => (isOver ? undefined : { name: 'penalize', limiter, time }),
        done: () => end(),
        failed: end,
        lost: () => end(this.#closed === undefined ? this.#late() : this.#closed.reason),
      });
    });
  }

  /** Ends all questions. */
  dropAll(): void {
    for (const question of this.#questions) this.drop(question);
    clearTimeout(this.#timer);
  }

  /** Resolves when late grants are returned, or at the deadline. Nothing is sent after `close`. */
  async settle(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isLate = false;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        isLate = true;
        resolve();
      }, timerDelay(this.#deadline));
    });
    // An answer may cause a correction.
    while (this.#pending.size > 0 && !isLate) {
      await Promise.race([Promise.all(this.#pending), late]);
    }
    clearTimeout(timer);
  }

  async close(reason: unknown): Promise<void> {
    this.#closed = { reason };
    await this.#stream?.close();
  }

  #open(): StartStream {
    this.#stream ??= new StartStream(this.#store, this.#label, this.#counter);
    return this.#stream;
  }

  #tell(operation: () => Operation | undefined): void {
    if (this.#closed !== undefined) return;
    const told = this.#begin();
    this.#open().send({
      operation: () => {
        const next = operation();
        if (next === undefined) told();
        return next;
      },
      done: told,
      failed: told,
      lost: told,
    });
  }

  /** Returns a function that ends the operation. */
  #begin(): () => void {
    let resolve!: () => void;
    const pending = new Promise<void>((resolver) => {
      resolve = resolver;
    });
    this.#pending.add(pending);
    return () => {
      this.#pending.delete(pending);
      resolve();
    };
  }

  #fail(question: Question, error: StoreError): void {
    if (question.isOver) return;
    this.drop(question);
    question.asker.undecided(error);
  }

  #late(route: Route = this.#open()): StoreError {
    const message = `${this.#label}the store has not decided within ${this.#deadline} ms`;
    return new StoreError(message, { cause: route.trouble });
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#questions.size === 0) return;
    const [first] = this.#questions as Iterable<Question>;
    const left = (first as Question).begun + this.#deadline - performance.now();
    const after = timerDelay(Math.max(left, 0));
    this.#timer = setTimeout(() => this.#check(), after);
  }

  #check(): void {
    this.#timer = undefined;
    const due = performance.now() - this.#deadline;
    for (const question of this.#questions) {
      if (question.begun > due) break;
      const { route } = question;
      this.#fail(question, this.#late(route));
      if (!route.closed) route.checkSilence(this.#deadline);
    }
    this.#arm();
  }
}
