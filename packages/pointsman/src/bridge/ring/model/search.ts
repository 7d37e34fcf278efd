/**
 * Explores every interleaving of two threads, and reports the first violation.
 *
 * Invariant: every branch of every state is explored. A thread cannot be copied, so the path to a state is replayed to
 * explore a further branch.
 */

import type { Instrumented } from './instrument.js';
import { type Shared, Violation } from './shared.js';
import { type Scenario, Sides } from './sides.js';

export interface SearchResult {
  readonly states: number;
  /** Whether all states were explored. */
  readonly complete: boolean;
  /** The violation, and the steps that lead to it. */
  readonly violation?: string;
  readonly trace?: readonly string[];
}

/** A longer path is an endless loop. */
const MAX_STEPS = 5_000;

export function search(
  scenario: Scenario,
  ring: Instrumented,
  shared: Shared,
  maxStates: number,
): SearchResult {
  const seen = new Set<string>();
  /** Branches to explore: the choice at each step of the path. */
  const open: Uint8Array[] = [new Uint8Array(0)];
  const path = new Uint8Array(MAX_STEPS);
  let random = 1;
  for (;;) {
    // In pseudo-random order, so that an incomplete search covers all regions.
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    const way = takeOut(open, random % open.length);
    if (way === undefined) return { states: seen.size, complete: true };
    if (seen.size > maxStates) return { states: seen.size, complete: false };
    const sides = new Sides(scenario, ring, shared);
    const trace: string[] = [];
    let timeouts = scenario.timeouts ?? 0;
    path.set(way);
    try {
      for (let depth = 0; ; depth++) {
        if (depth === MAX_STEPS) throw new Violation('the threads never finish');
        const choices = [
          ...shared.choices(shared.writer, timeouts > 0),
          ...shared.choices(shared.reader, timeouts > 0),
        ];
        if (depth >= way.length) {
          const signature = `${timeouts}${shared.signature()}`;
          if (seen.has(signature)) break;
          seen.add(signature);
          path[depth] = 0;
          for (let choice = 1; choice < choices.length; choice++) {
            const branch = path.slice(0, depth + 1);
            branch[depth] = choice;
            open.push(branch);
          }
        }
        const choice = choices[path[depth] as number];
        if (choice === undefined) {
          sides.checkEnd();
          break;
        }
        if (choice.ends) timeouts--;
        trace.push(choice.name);
        choice.take();
      }
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      return { states: seen.size, complete: false, violation: error.message, trace };
    }
  }
}

function takeOut<T>(list: T[], index: number): T | undefined {
  const last = list.pop();
  if (last === undefined || index === list.length) return last;
  const found = list[index];
  list[index] = last;
  return found;
}
