/** The invariants of every state. */

import { type Hold, sessionOf } from '../../../src/shared/protocol/protocol.js';
import type { State } from '../../../src/shared/protocol/state.js';
import type { Claim } from './client.js';
import type { World } from './world.js';

export class Violation extends Error {}

/** Fields deleted by hand that no batch has noticed yet. */
export interface Deleted {
  /** Sessions whose record was deleted. */
  readonly sessions: ReadonlySet<string>;
  /** Whether a lock was deleted: its queue then waits for the next heartbeat of a request in it. */
  readonly lock: boolean;
}

/** All that is held, with its key. */
export const holdsIn = ({ locks, shares }: State): (Hold & { readonly key: string })[] => [
  ...[...locks].map(([key, lock]) => ({ key, ...lock, weight: 0 })),
  ...[...shares].flatMap(([key, holds]) => holds.map((hold) => ({ key, ...hold }))),
];

export const grantKey = ({ id, token }: { readonly id: string; readonly token: number }): string =>
  `${id} ${token}`;

const fits = (weights: readonly number[], limit: number): boolean =>
  weights.every(Number.isFinite) && (limit === 0 || weights.reduce((a, b) => a + b) <= limit);

/** Checks the server's state after each batch. Returns the highest token granted. */
export function checkServer(
  before: State,
  after: State,
  highest: number,
  deleted: Deleted,
): number {
  const { locks, shares, limits, sessions, requests, guard } = after;
  const known = (id: string): boolean =>
    sessions.has(sessionOf(id)) || deleted.sessions.has(sessionOf(id));
  const waiting = [...requests].sort(([, a], [, b]) => Number(a.order) - Number(b.order));
  const held = holdsIn(after);
  for (const { key, id } of held) {
    if (!known(id)) throw new Violation(`${key} is held by ${id}, which has ended`);
  }
  for (const key of shares.keys()) {
    if (locks.has(key)) throw new Violation(`${key} is held alone and shared`);
  }
  const earlier = new Set(holdsIn(before).map(({ key, id }) => `${id} ${key}`));
  const granted = new Map<string, number>();
  for (const { key, id, token } of held) {
    if (!earlier.has(`${id} ${key}`)) granted.set(id, token);
  }
  for (const [id, token] of granted) {
    if (token <= highest) throw new Violation(`the token of ${id} is not higher than all before`);
    const order = before.requests.get(id)?.order ?? Number.POSITIVE_INFINITY;
    const keys = held.filter((hold) => hold.id === id).map(({ key }) => key);
    for (const [other, request] of waiting) {
      if (Number(request.order) < Number(order) && request.keys.some((key) => keys.includes(key))) {
        if (before.requests.has(other)) throw new Violation(`${id} has passed ${other}`);
      }
    }
  }
  const wanted = new Set<string>();
  for (const [id, { keys, share }] of waiting) {
    if (!known(id)) throw new Violation(`${id} waits, and its session has ended`);
    // When the guard ends, the waiters check the state themselves.
    const idle = guard === undefined && !deleted.lock;
    const isFree = (key: string): boolean => {
      if (share === undefined) return !locks.has(key) && !shares.has(key);
      const weights = (shares.get(key) ?? []).map(({ weight }) => weight);
      return !locks.has(key) && fits([...weights, share.weight], limits.get(key) ?? share.limit);
    };
    if (idle && keys.every((key) => isFree(key) && !wanted.has(key))) {
      throw new Violation(`${id} waits for keys that are free`);
    }
    for (const key of keys) wanted.add(key);
  }
  return Math.max(highest, ...granted.values());
}

/** Processes that believe to hold the same key share it, and their weights are within its limit. */
export function checkExclusion({ clients, now, forced }: World): void {
  const holders = new Map<string, Claim[]>();
  for (const client of clients) {
    if (!client.alive || !client.sure(now)) continue;
    for (const claim of client.claims) {
      // A holder that does not know yet that its lock was taken continues until the message arrives.
      if (!claim.held || forced.has(grantKey(claim))) continue;
      for (const key of claim.keys) {
        const others = holders.get(key) ?? [];
        const all = [...others, claim];
        const weights = all.map(({ share }) => share?.weight ?? Number.POSITIVE_INFINITY);
        if (others.length > 0 && !fits(weights, claim.share?.limit ?? 1)) {
          throw new Violation(`${others[0]?.id} and ${claim.id} both hold ${key}`);
        }
        holders.set(key, all);
      }
    }
  }
}
