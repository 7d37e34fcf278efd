/**
 * A subject of this table: one way to lock several keys on a Redis server, used as its own documentation says.
 *
 * Invariant: `lock` resolves only when this client holds all the keys. It waits without a limit, as the lock of the
 * published document does.
 */
import type { Address } from '../../harness/redis-server.js';
import type { Samples, Subject } from '../../harness/table.js';
import type { KeySet } from './workloads/keys.js';

/** One client process, with its own connections. */
export interface LockClient<Held = unknown> {
  lock(keys: string[]): Promise<Held>;
  unlock(held: Held): Promise<unknown>;
  close(): Promise<void>;
}

export interface LockSubject extends Subject {
  /**
   * Imports only the library, so that a cell's process loads no other subject. Everything on the server beside the keys
   * (queues, channels) has the namespace as prefix, because other subjects use the same server.
   */
  connect(address: Address, namespace: string): Promise<LockClient>;
}

/** Infers the holder's type, so that a subject is checked against its library's types. */
export function defineSubject<Held>(
  subject: Subject & { connect(address: Address, namespace: string): Promise<LockClient<Held>> },
): LockSubject {
  return subject as LockSubject;
}

export type Test = 'test-1' | 'test-2';

/** A subject in another language, whose own program does the document's tests. */
export interface ForeignSubject extends Subject {
  /** Why it cannot run here; undefined if it can. */
  whatIsLacking(): string | undefined;
  start(test: Test, address: Address, namespace: string): ForeignProgram;
}

export interface ForeignProgram {
  run(keySet: KeySet, milliseconds: number): Promise<Samples>;
  end(): void;
}
