/** The scenario format as types. The descriptions in `scenario.schema.json` document each part. */

export const primitives = [
  'semaphore',
  'mutex',
  'keyed-semaphore',
  'keyed-mutex',
  'lock-all',
  'rwlock',
  'keyed-rwlock',
  'notify',
  'condition',
  'barrier',
  'latch',
  'channel',
  'broadcast',
  'watch',
] as const;

export type Primitive = (typeof primitives)[number];

export type Law =
  | 'exclusion'
  | 'fifo'
  | 'cancellation'
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
  | 'release-again'
  | 'phases'
  | 'arrival'
  | 'uncounted'
  | 'receivers'
  | 'rendezvous'
  | 'when-full'
  | 'handed'
  | 'fetched';

export type ErrorKind = 'timeout' | 'aborted' | 'closed' | 'invalid' | 'reentrant' | 'full';

/** `lagged` is the number of missed values. */
export type Lag = { lagged: number };

export type Refusal = ErrorKind | 'unavailable' | { aborted: string } | { closed: string } | Lag;

export type Value = number | string;

export interface Setup {
  limit?: number;
  size?: number;
  count?: number;
  capacity?: number | 'unbounded';
  'when-full'?: 'wait' | 'drop-oldest' | 'reject';
  value?: Value;
  refused?: 'invalid';
}

export type OperationName =
  | 'acquire'
  | 'try-acquire'
  | 'read'
  | 'write'
  | 'try-read'
  | 'try-write'
  | 'downgrade'
  | 'release'
  | 'release-again'
  | 'abort'
  | 'drain'
  | 'close'
  | 'set-limit'
  | 'notified'
  | 'notify-one'
  | 'notify-waiters'
  | 'wait'
  | 'count-down'
  | 'send'
  | 'try-send'
  | 'receive'
  | 'receive-many'
  | 'try-receive'
  | 'changed'
  | 'subscribe'
  | 'discard';

/** The options of all operations. The schema says which operation takes which. */
export interface OperationOptions {
  key?: string;
  keys?: string[];
  permits?: number;
  priority?: number;
  timeout?: number;
  aborted?: true;
  owner?: string;
  reason?: string;
  limit?: number;
  count?: number;
  value?: Value;
  max?: number;
}

export interface Operation extends OperationOptions {
  actor: string;
  operation: OperationName;
}

export interface State {
  holding?: string[];
  reading?: string[];
  writing?: string[];
  waiting?: string[];
  draining?: string[];
  refused?: Record<string, Refusal>;
  received?: Record<string, Value | Value[]>;
  available?: number | Record<string, number>;
  limit?: number;
  closed?: boolean;
  owner?: string | null;
  keys?: string[];
  length?: number;
  count?: number;
  value?: Value;
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

/** Returns the operations of a step, in order; a step that advances the clock has none. */
export function operationsOf(step: Step): Operation[] {
  if ('do' in step) return [step.do];
  return 'together' in step ? step.together : [];
}
