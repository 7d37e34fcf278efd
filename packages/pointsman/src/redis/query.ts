/** What the server knows of a namespace, as a user reads it. */

import { type Query, sessionOf } from './protocol/protocol.js';

/** A lock that somebody holds. In `local` mode it is a process that holds it, for its tasks. */
export interface HeldLock {
  readonly keys: readonly string[];
  /** The name of the process, with a suffix that makes it unique. */
  readonly session: string;
  readonly id: string;
  /** The first of the fencing tokens that belong to it. */
  readonly token: number;
}

/** A request that waits on the server. */
export interface WaitingLock {
  readonly keys: readonly string[];
  readonly session: string;
  readonly id: string;
  /** The condition at which it waits to be notified; otherwise it waits for its keys. */
  readonly condition: string | undefined;
}

/** Who holds what and who waits, the first first. */
export function describeQuery({ locks, requests }: Query): {
  held: HeldLock[];
  waiting: WaitingLock[];
} {
  const held = new Map<string, { keys: string[]; session: string; id: string; token: number }>();
  for (const [key, value] of locks) {
    const [id, token] = value.split(' ') as [string, string];
    const lock = held.get(id) ?? { keys: [], session: sessionOf(id), id, token: Number(token) };
    lock.keys.push(key);
    held.set(id, lock);
  }
  const waiting = [...requests].sort(([, a], [, b]) => Number(a.order) - Number(b.order));
  return {
    held: [...held.values()].sort((a, b) => a.token - b.token),
    waiting: waiting.map(([id, { keys, condition }]) => ({
      keys,
      session: sessionOf(id),
      id,
      condition,
    })),
  };
}
