/** Tries a fault in one of its forms: all trials concurrently, one judgement. */
import type { Fault, Form } from './fault.js';
import { type Outcome, together } from './outcome.js';
import type { Terms } from './trial.js';

export const ours = new URL('./subjects/pointsman.js', import.meta.url).href;
/** Locks that break their promises; the judge must detect them. */
export const unchecked = new URL('./subjects/unchecked.js', import.meta.url).href;
export const unbounded = new URL('./subjects/unbounded.js', import.meta.url).href;

export async function tryFault(fault: Fault, form: Form, subject = ours): Promise<Outcome> {
  const { ttl, count, trials } = form;
  const { primitive = 'mutex' } = fault;
  const all = trials.map((handler) =>
    fault.run({ subject, primitive, handler, ttl, count } satisfies Terms),
  );
  // If one fails, the others still finish and clean up.
  const settled = await Promise.allSettled(all);
  return together(
    settled.map((one) => (one.status === 'fulfilled' ? one.value : brokenOff(one.reason))),
  );
}

function brokenOff(reason: unknown): Outcome {
  const trace = `odd: the trial broke off: ${reason instanceof Error ? reason.stack : reason}`;
  return { ...together([]), violations: [{ kind: 'odd', trace }] };
}
