/** What the server knows of a namespace, and what waits here beside it, as a user reads it. */

import { type Query, sessionOf } from './protocol/protocol.js';

/** Somebody who waits in this process, whether the server knows of it or not. */
export interface LocalWaiter {
  readonly keys: readonly string[];
  readonly session: string;
  /** Of its request, if it has made one. */
  readonly id: string | undefined;
}

/** A lock that somebody holds. In `local` mode it is a process that holds it, for its tasks. */
export interface HeldLock {
  readonly keys: readonly string[];
  /** The name of the process, with a suffix that makes it unique. */
  readonly session: string;
  readonly id: string;
  /** The first of the fencing tokens that belong to it. */
  readonly token: number;
}

/** A request that waits. */
export interface WaitingLock {
  readonly keys: readonly string[];
  readonly session: string;
  /** Undefined if it waits behind others of this process, and the server does not know of it. */
  readonly id: string | undefined;
  /** The condition at which it waits to be notified; otherwise it waits for its keys. */
  readonly condition: string | undefined;
}

/**
 * Who holds what and who waits, the first first: on the server in its order, and those who wait here in
 * the order in which they came.
 */
export function describeQuery(
  { locks, requests }: Query,
  local: readonly LocalWaiter[],
): {
  held: HeldLock[];
  waiting: WaitingLock[];
} {
  const held = new Map<string, { keys: string[]; session: string; id: string; token: number }>();
  // The server keeps them in no order; a guard has its keys in this one.
  for (const [key, value] of [...locks].sort()) {
    const [id, token] = value.split(' ') as [string, string];
    const lock = held.get(id) ?? { keys: [], session: sessionOf(id), id, token: Number(token) };
    lock.keys.push(key);
    held.set(id, lock);
  }
  const waiting: WaitingLock[] = [];
  const behind = local.filter(({ id }) => id === undefined || !held.has(id));
  /** Those of the first `count` that the server does not know of. */
  const show = (count: number): void => {
    for (const { id, ...waiter } of behind.splice(0, count)) {
      if (id === undefined || !requests.has(id)) {
        waiting.push({ ...waiter, id: undefined, condition: undefined });
      }
    }
  };
  const ordered = [...requests].sort(([, a], [, b]) => Number(a.order) - Number(b.order));
  for (const [id, { keys, condition }] of ordered) {
    // Whoever came here before it.
    show(behind.findIndex((waiter) => waiter.id === id) + 1);
    waiting.push({ keys, session: sessionOf(id), id, condition });
  }
  show(behind.length);
  return { held: [...held.values()].sort((a, b) => a.token - b.token), waiting };
}
