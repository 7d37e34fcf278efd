/**
 * A subject of this table: one way to limit requests on a Redis server, used as its own documentation says.
 *
 * Invariant: `decide` decides at once, without waiting for a start, and a request that it allows counts as a start.
 */
import type { Address } from '../../harness/redis-server.js';
import type { Subject } from '../../harness/table.js';

/** At most `limit` starts of each key in `per` milliseconds. */
export interface Rule {
  readonly limit: number;
  readonly per: number;
}

/** One client process, with its own connections. */
export interface LimitClient {
  /** Whether a request of this key may start now. */
  decide(key: string): Promise<boolean>;
  close(): Promise<void>;
}

export interface LimitSubject extends Subject {
  /** Why it is not in the rows of 10,000 keys. */
  readonly fewKeys?: true;
  /**
   * Imports only the library, so that a cell's process loads no other subject. Everything on the server has the
   * namespace as prefix, because other subjects use the same server.
   */
  connect(address: Address, namespace: string, rule: Rule): Promise<LimitClient>;
}
