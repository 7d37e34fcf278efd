/**
 * How batches reach the server. Both handlers keep the same state and may share a namespace.
 */

import type { Batch, Reply } from '../protocol/protocol.js';

export interface Handler {
  /** Makes a new connection ready; whoever calls has waited for it before sending batches. */
  prepare(): Promise<void>;
  /**
   * Applies a batch as a whole. Batches are applied in the order of the calls. Rejects with
   * `ConnectionLostError` if nobody knows whether it was applied, and with the server's error if it
   * was refused.
   */
  exchange(batch: Batch): Promise<Reply>;
}

/** What the names of a namespace's keys and channels begin with. One hash tag: one slot of a cluster. */
export const baseOf = (keyPrefix: string, namespace: string): string =>
  `${keyPrefix}{${namespace}}:`;

/** The two keys that hold a namespace, in the order in which the script takes them. */
export const keysOf = (base: string): readonly [state: string, index: string] => [
  `${base}state`,
  `${base}index`,
];

/** The queue of processes with the handler `pure` that wait for their turn to write. */
export const turnsOf = (base: string): string => `${base}turns`;

/**
 * What the names of a namespace's channels begin with: channels are the same in all databases, and
 * those of different databases have nothing to do with each other. No process has a slash in its name.
 */
export const channelBaseOf = (base: string, database: number): string =>
  database === 0 ? base : `${base}${database}/`;

/** Where a process is spoken to; without a name, where all who hold something are. */
export const channelOf = (channelBase: string, process = ''): string => channelBase + process;
