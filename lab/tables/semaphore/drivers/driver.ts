/** The load generator of the document's requests, and its report. */
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
  /** Its name in the note of a measurement. */
  readonly name: string;
  send(url: string, load: Load, expected: string): Promise<LoadResult>;
}

/** The document's own load generator if installed; building it takes minutes. */
export function findDriver(): Driver {
  return ohaDriver() ?? autocannonDriver;
}
