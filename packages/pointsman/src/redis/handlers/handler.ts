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

/** The four keys that hold a namespace, in the order in which the script takes them. */
export const keysOf = (base: string): readonly [string, string, string, string] => [
  `${base}locks`,
  `${base}sessions`,
  `${base}queue`,
  `${base}requests`,
];

/** Where a process is spoken to; without a name, where all who hold something are. */
export const channelOf = (base: string, process = ''): string => base + process;
