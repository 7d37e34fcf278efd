/**
 * The scenario format as types: the same shape as `scenario.schema.json`, whose descriptions say
 * what each part means.
 */

export type Primitive = 'semaphore' | 'mutex' | 'keyed-semaphore' | 'keyed-mutex';

export type Law =
  | 'exclusion'
  | 'fifo'
  | 'giving-up'
  | 'release-once'
  | 'closing'
  | 'no-growth'
  | 'bad-input';

export type Capability =
  | 'permits'
  | 'priority'
  | 'timeout'
  | 'signal'
  | 'drop'
  | 'try'
  | 'close'
  | 'drain'
  | 'resize'
  | 'reason'
  | 'owner'
  | 'bounded'
  | 'loose-numbers'
  | 'release-again';

export type ErrorKind = 'timeout' | 'aborted' | 'closed' | 'invalid' | 'reentrant';

export type Refusal = ErrorKind | 'unavailable' | { aborted: string } | { closed: string };

export interface Setup {
  limit?: number;
  refused?: 'invalid';
}

export type Operation = { actor: string } & (
  | {
      operation: 'acquire';
      key?: string;
      permits?: number;
      priority?: number;
      timeout?: number;
      aborted?: true;
      owner?: string;
    }
  | { operation: 'try-acquire'; key?: string; permits?: number; owner?: string }
  | { operation: 'release' }
  | { operation: 'release-again' }
  | { operation: 'abort'; reason?: string }
  | { operation: 'drain'; timeout?: number; aborted?: true }
  | { operation: 'close'; reason?: string }
  | { operation: 'set-limit'; limit: number }
);

export interface State {
  holding?: string[];
  waiting?: string[];
  draining?: string[];
  refused?: Record<string, Refusal>;
  available?: number | Record<string, number>;
  limit?: number;
  closed?: boolean;
  owner?: string | null;
  keys?: string[];
}

export type Step = { expect?: State } & (
  | { do: Operation }
  | { together: Operation[] }
  | { advance: number }
);

export interface Scenario {
  name: string;
  why?: string;
  needs?: Capability[];
  setup: Setup;
  steps: Step[];
}

export interface ScenarioFile {
  primitive: Primitive;
  laws: Law[];
  statement: string;
  scenarios: Scenario[];
}

/** What happens in a step, in order; a step that moves the clock has no operations. */
export function operationsOf(step: Step): Operation[] {
  if ('do' in step) return [step.do];
  return 'together' in step ? step.together : [];
}
