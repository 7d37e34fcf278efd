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

/** Each pool in its documented defaults and in its fastest documented setting; and messages without a pool. */
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

/** Each pool in its fastest documented setting, and piscina with its defaults too. */
export const bestPools = pools.filter((pool) => pool !== tinypool);

/** Pools whose threads have a lower priority than the main thread. */
export const politePools: readonly PoolSubject[] = [pointsmanNice, piscinaNice];

/** Each pool in its documented defaults. */
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

/** Keeps pools of a lower priority from being the best peer, because the other pools do not have one. */
export function unequalIfPolite(name: string): { readonly unequal?: string } {
  const isPolite = politePools.some((pool) => pool.name === name);
  return isPolite ? { unequal: 'its threads have a lower priority' } : {};
}
