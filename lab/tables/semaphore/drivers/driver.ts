/** What sends the document's requests, and what it says about them. */
import { autocannonDriver } from './autocannon.js';
import { ohaDriver } from './oha.js';

export interface Load {
  readonly requests: number;
  readonly connections: number;
}

export interface LoadResult {
  readonly totalSeconds: number;
  readonly averageSeconds: number;
  readonly slowestSeconds: number;
  /** Requests answered with status 200 and a body of the expected text. */
  readonly answered: number;
}

export interface Driver {
  /** As the note of a measurement names it. */
  readonly name: string;
  send(url: string, load: Load, expected: string): Promise<LoadResult>;
}

/** The document's own driver where it is installed; building it takes minutes. */
export function findDriver(): Driver {
  return ohaDriver() ?? autocannonDriver;
}
