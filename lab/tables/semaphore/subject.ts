/**
 * What a subject of this table is: one library, used as its own documentation says.
 *
 * A library offers permits (acquire and release) or runs a function, or both; a form or a feature
 * that it lacks is absent here, and then the subject is not in the cells that need it. Every member
 * is one static call into the library that the optimising compiler can inline, so it costs the
 * subject nothing; what a call needs is prepared by `create`.
 */
import type { Subject } from '../../harness/table.js';

export interface PermitForm<Library = unknown, Semaphore = unknown, Permit = unknown> {
  /** True where the limit is 1 and cannot be another. */
  readonly onlyOne?: true;
  /** True where a second release of the same permit cannot free another holder's. */
  readonly releasesOnce?: true;
  create(library: Library, limit: number): Semaphore;
  acquire(semaphore: Semaphore): Promise<Permit>;
  release(semaphore: Semaphore, permit: Permit): void;
  /** Synchronous: undefined when nothing is free. */
  tryAcquire?(semaphore: Semaphore): Permit | undefined;
  acquireWithSignal?(semaphore: Semaphore, signal: AbortSignal, library: Library): Promise<Permit>;
  /** Where the library's own time limit on waiting is chosen at creation. */
  createWithTimeout?(library: Library, limit: number, milliseconds: number): Semaphore;
  /** Where the library's own time limit on waiting is chosen by each call. */
  acquireWithTimeout?(semaphore: Semaphore, milliseconds: number): Promise<Permit>;
  /** What the published document calls in place of the above. */
  readonly asPublished?: {
    create?(library: Library): Semaphore;
    release?(semaphore: Semaphore, permit: Permit): void;
  };
  /** Only a floor, which knows no limit, has it: lets the first `limit` waiters in. */
  open?(semaphore: Semaphore, limit: number): void;
}

export type Work = () => Promise<void>;

export interface RunForm<Library = unknown, Runner = unknown> {
  /** True where the limit is 1 and cannot be another. */
  readonly onlyOne?: true;
  create(library: Library, limit: number): Runner;
  run(runner: Runner, work: Work, library: Library): Promise<unknown>;
  runWithSignal?(
    runner: Runner,
    work: Work,
    signal: AbortSignal,
    library: Library,
  ): Promise<unknown>;
}

export interface SemaphoreSubject<
  Library = unknown,
  Semaphore = unknown,
  Permit = unknown,
  Runner = unknown,
> extends Subject {
  /** Imports the library, and nothing else: a cell's process holds only its own subject. */
  load(): Promise<Library>;
  readonly permits?: PermitForm<Library, Semaphore, Permit>;
  readonly run?: RunForm<Library, Runner>;
}

/** Infers the library's own types, so that a subject is checked against them. */
export function defineSubject<Library, Semaphore, Permit, Runner>(
  subject: SemaphoreSubject<Library, Semaphore, Permit, Runner>,
): SemaphoreSubject {
  return subject;
}

/** A form with a feature that not every library offers. */
export type With<Form, Feature extends keyof Form> = Form & Required<Pick<Form, Feature>>;

export function has<Form, Feature extends keyof Form>(
  form: Form | undefined,
  feature: Feature,
): form is With<Form, Feature> {
  return form?.[feature] !== undefined;
}
