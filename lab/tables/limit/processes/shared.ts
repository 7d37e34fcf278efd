/** Types shared by the processes of a cell and their controller. */
import type { Address } from '../../../harness/redis-server.js';
import type { Start } from '../judge.js';
import type { Rule } from '../subject.js';
import type { Decided } from '../workloads/decide.js';

export const processCount = 4;

/** Passed to a process as JSON when it is forked. */
export interface Orders {
  readonly subject: string;
  readonly address: Address;
  /** The prefix of the keys. */
  readonly namespace: string;
  readonly rule: Rule;
  readonly isFirst: boolean;
}

/** The work of one run. */
export type Command =
  | {
      readonly name: 'decide';
      readonly keys: number;
      readonly tasks: number;
      readonly milliseconds: number;
    }
  | { readonly name: 'trace'; readonly at: number };

export interface Reports {
  readonly decide: Decided;
  readonly trace: readonly Start[];
}
