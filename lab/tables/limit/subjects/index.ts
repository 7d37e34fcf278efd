/**
 * Every subject of the table, in the order of the report: ours, the peers, the floor.
 *
 * To add a peer, add a file to this folder and an entry here. The cells include it.
 */
import roundTrip from '../floors/round-trip.js';
import type { LimitSubject } from '../subject.js';
import bottleneck from './bottleneck.js';
import { exact, leased } from './pointsman.js';
import rateLimitRedis from './rate-limit-redis.js';
import rateLimiterFlexible from './rate-limiter-flexible.js';
import { fixedWindow, slidingWindow } from './upstash.js';

/** The fastest peers, beside which our limiter with a lease is measured. */
const fastest: readonly LimitSubject[] = [rateLimiterFlexible, rateLimitRedis];
const peers: readonly LimitSubject[] = [...fastest, slidingWindow, fixedWindow, bottleneck];

/** Those that limit. */
export const limiters: readonly LimitSubject[] = [exact, leased, ...peers];
export const exactSubjects: readonly LimitSubject[] = [exact, ...peers, roundTrip];
export const leasedSubjects: readonly LimitSubject[] = [leased, ...fastest, roundTrip];

/** In the order of the report. */
export const subjects: readonly LimitSubject[] = [...limiters, roundTrip];

export function limitSubjectNamed(name: string): LimitSubject {
  const found = subjects.find((subject) => subject.name === name);
  if (!found) {
    const names = subjects.map((subject) => subject.name).join(', ');
    throw new RangeError(`subject ${JSON.stringify(name)}: expected one of ${names}`);
  }
  return found;
}
