/**
 * Every pool of the table, in the order of the report: ours, then the peers. To add a peer, add a file to this folder,
 * a module in `workers/` and an entry here.
 */
import type { Subject } from '../../../harness/table.js';
import barePostMessage from '../floors/bare-post-message.js';
import mainThreadAlone from '../floors/main-thread-alone.js';
import type { PoolSubject } from '../subject.js';
import piscina from './piscina.js';
import piscinaNice from './piscina-nice.js';
import piscinaTuned from './piscina-tuned.js';
import pointsman from './pointsman.js';
import pointsmanNice from './pointsman-nice.js';
import poolifier from './poolifier.js';
import tinypool from './tinypool.js';
import tinypool16 from './tinypool-16.js';
import workerpool from './workerpool.js';

export { barePostMessage };

/** In the documented defaults and in the fastest documented setting; and messages without a pool. */
export const pools: readonly PoolSubject[] = [
  pointsman,
  piscina,
  piscinaTuned,
  tinypool,
  tinypool16,
  workerpool,
  poolifier,
  barePostMessage,
];

/** Each in its fastest documented setting, and the most popular one with its defaults. */
export const bestPools = pools.filter((pool) => pool !== tinypool);

/** For threads that compete with the main thread for a core: theirs have a lower priority. */
export const politePools: readonly PoolSubject[] = [pointsmanNice, piscinaNice];

/** In their documented defaults. */
export const defaultPools: readonly PoolSubject[] = [
  pointsman,
  piscina,
  tinypool,
  workerpool,
  poolifier,
];

export function namesOf(subjects: readonly Subject[]): readonly string[] {
  return subjects.map(({ name }) => name);
}

export function poolNamed(name: string): PoolSubject {
  const all = [...pools, ...politePools, mainThreadAlone];
  const found = all.find((pool) => pool.name === name);
  if (!found) {
    const known = namesOf(all).join(', ');
    throw new RangeError(`subject ${JSON.stringify(name)}: expected one of ${known}`);
  }
  return found;
}

/** Their figures show the effect of a priority, but the other pools do not have one. */
export function unequalIfPolite(name: string): { readonly unequal?: string } {
  const isPolite = politePools.some((pool) => pool.name === name);
  return isPolite ? { unequal: 'its threads have a lower priority' } : {};
}
