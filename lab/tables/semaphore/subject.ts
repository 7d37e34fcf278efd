/**
 * A subject of this table: one library, used as its own documentation says.
 *
 * A library offers permits (acquire and release), runs a function, or both. A missing form or feature is absent here,
 * and then the subject is not in the cells that need it. Every member is one static call into the library that the
 * optimising compiler can inline, so it costs the subject nothing; `create` prepares what a call needs.
 */
import type { Subject } from '../../harness/table.js';

export interface PermitForm<Library = unknown, Semaphore = unknown, Permit = unknown> {
  /** True if the limit is always 1. */
  readonly onlyOne?: true;
  create(library: Library, limit: number): Semaphore;
  acquire(semaphore: Semaphore): Promise<Permit>;
  release(semaphore: Semaphore, permit: Permit): void;
  /** Synchronous: undefined if no permit is free. */
  tryAcquire?(semaphore: Semaphore): Permit | undefined;
  acquireWithSignal?(semaphore: Semaphore, signal: AbortSignal): Promise<Permit>;
  /** For a library whose own time limit on waiting is set at creation. */
  createWithTimeout?(library: Library, limit: number, milliseconds: number): Semaphore;
  /** For a library whose own time limit on waiting is set by each call. */
  acquireWithTimeout?(semaphore: Semaphore, milliseconds: number): Promise<Permit>;
  /** The call that the published document uses instead. */
  readonly asPublished?: {
    create?(library: Library): Semaphore;
    release?(semaphore: Semaphore, permit: Permit): void;
  };
  /** Only for floors without a limit: admits the first `limit` waiters. */
  open?(semaphore: Semaphore, limit: number): void;
}

export type Work = () => Promise<void>;

export interface RunForm<Library = unknown, Runner = unknown> {
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
  /** Imports only the library, so that a cell's process loads no other subject. */
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

/** A form with a feature that some libraries lack. */
export type With<Form, Feature extends keyof Form> = Form & Required<Pick<Form, Feature>>;

export function has<Form, Feature extends keyof Form>(
  form: Form | undefined,
  feature: Feature,
): form is With<Form, Feature> {
  return form?.[feature] !== undefined;
}
