/**
 * Every pool of the table, in the order of the report: ours, then the peers. To add a peer, add a file to this folder,
 * a module in `workers/` and an entry here.
 */
import bare from '../floors/bare-post-message.js';
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

/** One message per task, without a pool. */
export const barePostMessage = bare;

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

/** The pools that by default send a thread one task at a time, in both settings. */
export const headlinePools = [pointsman, piscina, piscinaTuned, tinypool, tinypool16, workerpool];

/** Each in its best documented setting, and the most popular one with its defaults. */
export const bestPools: readonly PoolSubject[] = [
  pointsman,
  piscina,
  piscinaTuned,
  tinypool16,
  workerpool,
  poolifier,
  barePostMessage,
];

/** For threads that compete with the main thread for a core: theirs have a lower priority. */
export const politePools = [pointsmanNice, piscinaNice];

/** In their documented defaults. */
export const defaultPools = [pointsman, piscina, tinypool, workerpool, poolifier];

export function poolNamed(name: string): PoolSubject {
  const found = [...pools, ...politePools].find((pool) => pool.name === name);
  if (!found) {
    const names = pools.map((pool) => pool.name).join(', ');
    throw new RangeError(`subject ${JSON.stringify(name)}: expected one of ${names}`);
  }
  return found;
}

/** Their figures show the effect of a priority, but the other pools do not have one. */
export function unequalIfPolite(name: string): { readonly unequal?: string } {
  const isPolite = politePools.some((pool) => pool.name === name);
  return isPolite ? { unequal: 'its threads have a lower priority' } : {};
}
