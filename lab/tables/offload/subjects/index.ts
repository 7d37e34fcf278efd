/**
 * Every pool of the table, in the order in which the report lists them: ours, then the peers. A peer is
 * added by a file beside this one, a module in `workers/` and its place here.
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

/** Message by message, without a pool around it. */
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

/** The pools that hand a thread one task at a time unless told otherwise, in both settings. */
export const headlinePools = [pointsman, piscina, piscinaTuned, tinypool, tinypool16, workerpool];

/** Each in its best documented setting, and the one that most people use as it comes. */
export const bestPools: readonly PoolSubject[] = [
  pointsman,
  piscina,
  piscinaTuned,
  tinypool16,
  workerpool,
  poolifier,
  barePostMessage,
];

/** Where threads compete with the main one for a core: their threads have a lower priority. */
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

/** Their figures show what a priority does; but it is not what the others are asked for. */
export function unequalIfPolite(name: string): { readonly unequal?: string } {
  const isPolite = politePools.some((pool) => pool.name === name);
  return isPolite ? { unequal: 'its threads have a lower priority' } : {};
}
