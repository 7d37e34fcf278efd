/** The invariants of every state. */

import { sessionOf } from '../../../src/shared/protocol/protocol.js';
import type { State } from '../../../src/shared/protocol/state.js';
import type { World } from './world.js';

export class Violation extends Error {}

/** Fields deleted by hand that no batch has noticed yet. */
export interface Deleted {
  /** Sessions whose record was deleted. */
  readonly sessions: ReadonlySet<string>;
  /** Whether a lock was deleted: its queue then waits for the next heartbeat of a request in it. */
  readonly lock: boolean;
}

/** Checks the server's state after each batch. Returns the highest token granted. */
export function checkServer(
  before: State,
  after: State,
  highest: number,
  deleted: Deleted,
): number {
  const { locks, sessions, requests, guard } = after;
  const known = (id: string): boolean =>
    sessions.has(sessionOf(id)) || deleted.sessions.has(sessionOf(id));
  const waiting = [...requests].sort(([, a], [, b]) => Number(a.order) - Number(b.order));
  for (const [key, { id }] of locks) {
    if (!known(id)) throw new Violation(`${key} is held by ${id}, which has ended`);
  }
  const granted = new Map<string, number>();
  for (const [key, { id, token }] of locks) {
    if (before.locks.get(key)?.id !== id) granted.set(id, token);
  }
  for (const [id, token] of granted) {
    if (token <= highest) throw new Violation(`the token of ${id} is not higher than all before`);
    const order = before.requests.get(id)?.order ?? Number.POSITIVE_INFINITY;
    const keys = [...locks].filter(([, lock]) => lock.id === id).map(([key]) => key);
    for (const [other, request] of waiting) {
      if (Number(request.order) < Number(order) && request.keys.some((key) => keys.includes(key))) {
        if (before.requests.has(other)) throw new Violation(`${id} has passed ${other}`);
      }
    }
  }
  const wanted = new Set<string>();
  for (const [id, { keys }] of waiting) {
    if (!known(id)) throw new Violation(`${id} waits, and its session has ended`);
    // When the guard ends, the waiters check the state themselves.
    const idle = guard === undefined && !deleted.lock;
    if (idle && !keys.some((key) => locks.has(key) || wanted.has(key))) {
      throw new Violation(`${id} waits for keys that are free`);
    }
    for (const key of keys) wanted.add(key);
  }
  return Math.max(highest, ...granted.values());
}

/** No two processes believe to hold the same key. */
export function checkExclusion({ clients, now, forced }: World): void {
  const holders = new Map<string, string>();
  for (const client of clients) {
    if (!client.alive || !client.sure(now)) continue;
    for (const { id, keys, held, token } of client.claims) {
      // A holder that does not know yet that its lock was taken continues until the message arrives.
      if (!held || forced.has(`${id} ${token}`)) continue;
      for (const key of keys) {
        const other = holders.get(key);
        if (other !== undefined) throw new Violation(`${other} and ${id} both hold ${key}`);
        holders.set(key, id);
      }
    }
  }
}
