/** A verdict as a class of the page's style; only a significant one has a colour. */
import type { Verdict } from '../harness/statistics.js';

export function verdictClass(verdict: Verdict): string {
  return verdict.replace(' ', '-');
}
