/**
 * The stored form of a namespace in Redis: a hash, and a sorted set that is its index.
 *
 * Invariant: the index is derived from the hash alone, so a lost index can be rebuilt.
 */

import { parse } from '../../shared/protocol/malformed.js';
import type { Hold, Request } from '../../shared/protocol/protocol.js';
import { emptyState, type State } from '../../shared/protocol/state.js';
import { holdsOf, requestOf, sharedRecordOf } from '../../shared/protocol/wire.js';

export interface Stored {
  /** The fields of the hash. */
  readonly fields: ReadonlyMap<string, string>;
  /** The members of the sorted set. */
  readonly index: ReadonlySet<string>;
}

type Five = [number, number, number, number, number];

const clockPattern = /^(\d+) (\d+) (\d+) (\d+) ([01]) (\S+) (\d+)$/;
const sessionPattern = /^(\d+) (\d+) (\d+) (\S+)$/;

/** Reads a state. The fields of a hash without a clock are ignored. */
export function load(fields: ReadonlyMap<string, string>): State {
  const state = emptyState();
  if (!fields.has('')) return state;
  for (const [field, value] of fields) {
    const name = field.slice(field.indexOf(':') + 1);
    if (field === '') {
      const words = parse('the record of the clock', value, clockPattern);
      const [token, time, seen, guard, doubted] = words.slice(1, 6).map(Number) as Five;
      const run = words[6] === '-' ? undefined : words[6];
      state.clock = { token, time, seen, doubted: doubted === 1, run };
      state.guard = guard > 0 ? guard : undefined;
    } else if (field.startsWith('lock:')) {
      const holds = holdsOf(name, value);
      const [{ id, token, weight }] = holds as [Hold];
      if (weight === 0) state.locks.set(name, { id, token });
      else state.shares.set(name, holds);
    } else if (field.startsWith('limit:')) {
      const [limit] = parse(`the limit of ${name}`, value, /^\d+$/);
      state.limits.set(name, Number(limit));
    } else if (field.startsWith('session:')) {
      const words = parse(`the record of the session ${name}`, value, sessionPattern);
      const [expires, incarnation, ttl] = words.slice(1, 4).map(Number) as [number, number, number];
      state.sessions.set(name, { expires, incarnation, ttl, secret: words[4] as string });
    } else if (field.startsWith('request:')) {
      state.requests.set(name, requestOf(name, value));
    }
  }
  return state;
}

export function store(state: State): Stored {
  const { clock, locks, shares, limits, sessions, requests, guard } = state;
  const fields = new Map<string, string>();
  const index = new Set<string>();
  if (clock === undefined) return { fields, index };
  index.add('');
  for (const [key, { id, token }] of locks) {
    fields.set(`lock:${key}`, `${id} ${token}`);
    index.add(`h${id} ${key}`);
  }
  for (const [key, holds] of shares) {
    fields.set(`lock:${key}`, sharedRecordOf(holds));
    for (const { id } of holds) index.add(`h${id} ${key}`);
  }
  for (const [key, limit] of limits) fields.set(`limit:${key}`, `${limit}`);
  for (const [session, { expires, incarnation, ttl, secret }] of sessions) {
    fields.set(`session:${session}`, `${expires} ${incarnation} ${ttl} ${secret}`);
    index.add(`e${`${expires}`.padStart(16, '0')} ${session}`);
  }
  let places = 0;
  for (const [id, request] of requests) {
    fields.set(`request:${id}`, JSON.stringify(request));
    index.add(`r${id}`);
    for (const place of placesOf(id, request)) {
      index.add(place);
      places++;
    }
  }
  const { token, time, seen, doubted, run = '-' } = clock;
  const rest = `${doubted ? 1 : 0} ${run} ${places}`;
  fields.set('', `${token} ${time} ${seen} ${guard ?? 0} ${rest}`);
  return { fields, index };
}

/** The places of a request in the queues of its keys, or of its condition. */
function placesOf(id: string, { order, keys, condition }: Request): string[] {
  const place = (kind: string, name: string) =>
    `${kind}${Buffer.byteLength(name)}:${name}:${order.padStart(16, '0')}${id}`;
  return condition === undefined ? keys.map((key) => place('k', key)) : [place('c', condition)];
}
