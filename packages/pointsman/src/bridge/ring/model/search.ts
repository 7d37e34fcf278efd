/**
 * Every order in which two threads can do what they do, and what is wrong in one of them.
 *
 * Invariant: a state is left behind only when all that can follow it was gone through. A thread cannot
 * be copied, so the way to a state is gone again when its second branch is taken.
 */

import type { Instrumented } from './instrument.js';
import { type Shared, Violation } from './shared.js';
import { type Setup, World } from './ways.js';

export interface Found {
  readonly states: number;
  /** Whether there was nothing left to go to. */
  readonly complete: boolean;
  /** What is wrong, and how it came to that. */
  readonly violation?: string;
  readonly trace?: readonly string[];
}

/** A way that nobody has reason to take: something goes on for ever. */
const longest = 5_000;

export function search(
  setup: Setup,
  ring: Instrumented,
  shared: Shared,
  mostStates: number,
): Found {
  const seen = new Set<string>();
  /** Branches to take: which choice at each step on the way there. */
  const open: Uint8Array[] = [new Uint8Array(0)];
  const path = new Uint8Array(longest);
  let random = 1;
  for (;;) {
    // In no order, so that a search which is not complete has been everywhere.
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    const way = takeOut(open, random % open.length);
    if (way === undefined) return { states: seen.size, complete: true };
    if (seen.size > mostStates) return { states: seen.size, complete: false };
    const world = new World(setup, ring, shared);
    const trace: string[] = [];
    let timeouts = setup.timeouts ?? 0;
    path.set(way);
    try {
      for (let depth = 0; ; depth++) {
        if (depth === longest) throw new Violation('it never comes to an end');
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
          world.checkEnd();
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
