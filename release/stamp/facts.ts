import type { Address } from '../address.js';

/** What is written into other files. */
export interface Facts {
  readonly version: string;
  /** Absent until the repository is public: then what says it stays as it is. */
  readonly address: Address | undefined;
}
