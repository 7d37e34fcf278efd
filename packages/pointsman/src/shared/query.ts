/** The result of `query()`: the state on the server, and the requests that wait only in this process. */

import { type Query, sessionOf } from './protocol/protocol.js';

/** A request that waits in this process. The server may not know it. */
export interface LocalWaiter {
  readonly keys: readonly string[];
  readonly session: string;
  /** The id of its request to the server, if there is one. */
  readonly id: string | undefined;
}

/** A held lock. In the mode `local` a process holds it for its tasks. */
export interface HeldLock {
  readonly keys: readonly string[];
  /** The name of the process, with a suffix that makes it unique. */
  readonly session: string;
  readonly id: string;
  /** The first of its fencing tokens. */
  readonly token: number;
  /** Its weight, if it shares its keys with other holders; undefined if it excludes them. */
  readonly weight?: number | undefined;
}

/** A waiting request. */
export interface WaitingLock {
  readonly keys: readonly string[];
  readonly session: string;
  /** Undefined if it waits behind others of its process and the server does not know it. */
  readonly id: string | undefined;
  /** The condition at which it waits; undefined if it waits for its keys. */
  readonly condition: string | undefined;
}

/** Returns the held locks by token, and the waiting requests: the server's in its order, each behind earlier local ones. */
export function describeQuery(
  { locks, requests }: Query,
  local: readonly LocalWaiter[],
): {
  held: HeldLock[];
  waiting: WaitingLock[];
} {
  const held = new Map<string, HeldLock & { readonly keys: string[] }>();
  // The server has no order; the keys of a guard are sorted.
  for (const [key, holds] of [...locks].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const { id, token, weight } of holds) {
      const lock = held.get(id) ?? {
        keys: [],
        session: sessionOf(id),
        id,
        token,
        ...(weight === 0 ? {} : { weight }),
      };
      lock.keys.push(key);
      held.set(id, lock);
    }
  }
  const waiting: WaitingLock[] = [];
  const behind = local.filter(({ id }) => id === undefined || !held.has(id));
  const show = (count: number): void => {
    for (const { id, ...waiter } of behind.splice(0, count)) {
      if (id === undefined || !requests.has(id)) {
        waiting.push({ ...waiter, id: undefined, condition: undefined });
      }
    }
  };
  const ordered = [...requests].sort(([, a], [, b]) => Number(a.order) - Number(b.order));
  for (const [id, { keys, condition }] of ordered) {
    show(behind.findIndex((waiter) => waiter.id === id) + 1);
    waiting.push({ keys, session: sessionOf(id), id, condition });
  }
  show(behind.length);
  return { held: [...held.values()].sort((a, b) => a.token - b.token), waiting };
}
