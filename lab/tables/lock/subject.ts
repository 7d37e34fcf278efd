/**
 * What a subject of this table is: one way to lock several keys on a Redis server, used as its own
 * documentation says.
 *
 * Invariant: `lock` resolves when this client holds all the keys, and resolves only then; it waits
 * as long as it takes, as the lock of the published document does.
 */
import type { Address } from '../../harness/redis-server.js';
import type { Measurement, Subject } from '../../harness/table.js';

/** One client process as the library sees it, with connections of its own. */
export interface LockClient<Held = unknown> {
  lock(keys: string[]): Promise<Held>;
  unlock(held: Held): Promise<unknown>;
  close(): Promise<void>;
}

export interface LockSubject extends Subject {
  /** Imports the library, and nothing else: a cell's process holds only its own subject. */
  connect(address: Address): Promise<LockClient>;
}

/** Infers what a holder is, so that a subject is checked against its library's types. */
export function defineSubject<Held>(
  subject: Subject & { connect(address: Address): Promise<LockClient<Held>> },
): LockSubject {
  return subject as LockSubject;
}

/** A subject in another language, which does the document's tests in a program of its own. */
export interface ForeignSubject extends Subject {
  measure(test: 'test-1' | 'test-2', address: Address, milliseconds: number): Promise<Measurement>;
}
