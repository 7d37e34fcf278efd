/** The calls that the runner makes to a process with limiters. */
import type { Setting } from '../subjects/subject.js';
import type { Plan } from './plans.js';

/** The parameters of a process. */
export interface LimiterStart {
  readonly setting: Setting;
  readonly plans: readonly Plan[];
  /** The milliseconds by which all of its clocks are ahead of the machine's. */
  readonly ahead: number;
  readonly deadline: number;
  /** The file of its log. */
  readonly log: string;
}

/** How a request was decided. */
export interface Decision {
  readonly question: string;
  readonly milliseconds: number;
  /** The longest time for which the process got no turn meanwhile. */
  readonly paused: number;
  /** The name of the error, if it was rejected. */
  readonly error?: string;
}

export interface LimiterCalls {
  work(): void;
  /** Ends the tasks. Returns the number of those that did not end within the time. */
  drain(milliseconds: number): Promise<number>;
  /** Asks each limiter in every way. */
  decide(): Promise<Decision[]>;
  /** Shifts `Date` further. */
  setDate(milliseconds: number): void;
  figures(): { readonly rejected: Readonly<Record<string, number>> };
  close(): Promise<void>;
}
