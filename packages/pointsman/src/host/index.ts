/**
 * The store for the processes of one machine, for the primitives of `pointsman/shared`. Needs Node 20 or later.
 *
 * @module pointsman/host
 */

export type { StoreOptions } from '../shared/options.js';
export type { Store } from '../shared/store.js';
export { type HostOptions, host } from './host.js';
