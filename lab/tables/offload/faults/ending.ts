/** How a task ended for its caller, and a description of it. */
import type { Behaviour } from '../../../harness/table.js';

export type Ending =
  | { readonly kind: 'resolved'; readonly value: unknown; readonly milliseconds: number }
  | { readonly kind: 'rejected'; readonly reason: unknown; readonly milliseconds: number }
  /** The call threw instead of returning a promise. */
  | { readonly kind: 'thrown'; readonly reason: unknown }
  | { readonly kind: 'hangs' };

const hangMilliseconds = 2_000;
/** Only a noticeable time is mentioned. */
const noticedMilliseconds = 1_000;

export function endingOf(
  start: () => PromiseLike<unknown>,
  limit = hangMilliseconds,
): Promise<Ending> {
  const startedAt = performance.now();
  const gone = () => performance.now() - startedAt;
  return new Promise((resolve) => {
    setTimeout(() => resolve({ kind: 'hangs' }), limit);
    try {
      start().then(
        (value) => resolve({ kind: 'resolved', value, milliseconds: gone() }),
        (reason) => resolve({ kind: 'rejected', reason, milliseconds: gone() }),
      );
    } catch (reason) {
      resolve({ kind: 'thrown', reason });
    }
  });
}

export function wordsOf(ending: Ending): string {
  if (ending.kind === 'hangs') return 'hangs';
  if (ending.kind === 'thrown') return `throws ${nameOf(ending.reason)}, no promise`;
  const late =
    ending.milliseconds > noticedMilliseconds
      ? ` after ${(ending.milliseconds / 1_000).toFixed(1)} s`
      : '';
  if (ending.kind === 'resolved') return `resolves${late}`;
  return `rejects with ${nameOf(ending.reason)}${late}`;
}

/** Sound if the task was rejected, with an error that has a message. */
export function describeRejection(ending: Ending): Behaviour {
  const sound =
    ending.kind === 'rejected' && ending.reason instanceof Error && ending.reason.message !== '';
  return { words: wordsOf(ending), sound };
}

function nameOf(reason: unknown): string {
  if (!(reason instanceof Error)) return `no Error but ${describeOther(reason)}`;
  if (reason.message === '') return `an empty ${reason.name}`;
  return reason.name === 'Error' ? 'an Error' : reason.name;
}

function describeOther(reason: unknown): string {
  return typeof reason === 'object' && reason !== null ? 'an object' : String(reason);
}
