/**
 * Every pool of the table, in the order in which the report lists them: ours, the peers, what is
 * written by hand. A peer is added by a file beside this one, a module in `workers/` and its place here.
 */
import type { PoolSubject } from '../subject.js';
import piscina from './piscina.js';
import piscina16 from './piscina-16.js';
import piscinaNice from './piscina-nice.js';
import pointsman from './pointsman.js';
import poolifier from './poolifier.js';
import postMessage from './post-message.js';
import tinypool from './tinypool.js';
import tinypool16 from './tinypool-16.js';
import workerpool from './workerpool.js';

export const pools: readonly PoolSubject[] = [
  pointsman,
  piscina,
  piscina16,
  tinypool,
  tinypool16,
  workerpool,
  poolifier,
  postMessage,
];

/** The pools that hand a thread one task at a time unless told otherwise, in both settings. */
export const headlinePools = [pointsman, piscina, piscina16, tinypool, tinypool16, workerpool];

/** Where threads compete with the main one for a core. */
export const politePools = [piscinaNice];

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
