/** How a task ended, as its caller saw it, and that in words. */
import type { Behaviour } from '../../../harness/table.js';

export type Ending =
  | { readonly kind: 'resolved'; readonly value: unknown; readonly milliseconds: number }
  | { readonly kind: 'rejected'; readonly reason: unknown; readonly milliseconds: number }
  /** Not even a promise was given. */
  | { readonly kind: 'thrown'; readonly reason: unknown }
  | { readonly kind: 'hangs' };

const hangMilliseconds = 2_000;
/** Only a time that anybody would notice is worth a word. */
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

/** Sound where the task was to be rejected, with an error that says something. */
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
