import type { Address } from '../address.js';

/** The facts that stamping writes into other files. */
export interface Facts {
  readonly version: string;
  /** Absent until the repository is public; files that state it are then left alone. */
  readonly address: Address | undefined;
}
