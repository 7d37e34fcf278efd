/**
 * Decides from the histories of all client processes whether a lock kept its promises.
 *
 * Invariant: no false accusation. A holder counts as valid from its grant to the last time its own guard said so,
 * never longer. The server is not asked, and all times are those of the machine's clock.
 */
import type { History, Hold } from './history.js';

export type Kind =
  | 'late' // granted when it was no longer valid
  | 'overlap' // two valid holders of one key
  | 'token' // a token not above that of an earlier holder of the key
  | 'stale write' // a fenced store accepted a write of an earlier holder after one of a later holder
  | 'revived' // valid again after its signal had aborted
  | 'silent' // no longer valid, and its signal did not abort
  | 'usurped' // the server has granted another client what a valid holder holds
  | 'forgotten' // the server has no record of a valid holder
  | 'stranded' // a lock() that did not settle after the fault was over
  | 'leak' // something remained on the server
  | 'odd' // an error that no fault explains, or a process that ended on its own
  | 'slow'; // something took longer than its limit

export interface Violation {
  readonly kind: Kind;
  readonly text: string;
  readonly at?: number;
  readonly holds?: readonly Hold[];
}

export interface Judgement {
  readonly violations: readonly Violation[];
  /** Writes of earlier holders that a fenced store rejected, because a later holder had written. */
  readonly staleWritesRefused: number;
}

export function judge(histories: readonly History[]): Judgement {
  const holds = histories.flatMap((history) => history.holds);
  const violations = [...holds.flatMap(violationsOf), ...histories.flatMap(oddities)];
  const byKey = new Map<string, Hold[]>();
  for (const hold of holds) {
    for (const key of hold.keys) {
      const same = byKey.get(key);
      if (same) same.push(hold);
      else byKey.set(key, [hold]);
    }
  }
  let staleWritesRefused = 0;
  for (const [key, same] of byKey) {
    same.sort((one, other) => one.entered - other.entered);
    violations.push(...overlaps(key, same), ...tokens(key, same));
    const store = writes(key, same);
    violations.push(...store.violations);
    staleWritesRefused += store.refused;
  }
  return { violations: withoutRepeats(violations), staleWritesRefused };
}

function violationsOf(hold: Hold): Violation[] {
  const found: Violation[] = [];
  if (hold.atEntry === 'invalid') {
    found.push({ kind: 'late', at: hold.entered, text: 'handed out invalid', holds: [hold] });
  }
  if (hold.revived !== undefined) {
    const text = 'valid after its signal had aborted';
    found.push({ kind: 'revived', at: hold.revived, text, holds: [hold] });
  }
  if (hold.silent) {
    const text = 'left invalid, and its signal did not abort';
    found.push({ kind: 'silent', at: hold.left ?? hold.entered, text, holds: [hold] });
  }
  if (hold.contradiction) {
    found.push({ ...hold.contradiction, holds: [hold] });
  }
  return found;
}

function oddities(history: History): Violation[] {
  return history.oddities.map(({ client, at, text }) => ({
    kind: 'odd',
    at,
    text: `${client}: ${text}`,
  }));
}

function overlaps(key: string, holds: readonly Hold[]): Violation[] {
  const found: Violation[] = [];
  let longest: Hold | undefined;
  for (const hold of holds) {
    if (hold.lastValid === undefined) continue;
    if (longest?.lastValid !== undefined && hold.entered <= longest.lastValid) {
      const milliseconds = (Math.min(longest.lastValid, hold.lastValid) - hold.entered) / 1e6;
      const text = `two valid holders of ${key} for at least ${milliseconds.toFixed(3)} ms`;
      found.push({ kind: 'overlap', at: hold.entered, text, holds: [longest, hold] });
    }
    if (longest?.lastValid === undefined || hold.lastValid > longest.lastValid) longest = hold;
  }
  return found;
}

function tokens(key: string, holds: readonly Hold[]): Violation[] {
  const found: Violation[] = [];
  let highest: Hold | undefined;
  for (const hold of holds) {
    if (hold.atEntry !== 'valid') continue;
    if (highest && hold.token <= highest.token) {
      const text = `token ${hold.token} for ${key} after ${highest.token}`;
      found.push({ kind: 'token', at: hold.entered, text, holds: [highest, hold] });
    } else highest = hold;
  }
  return found;
}

/** Every holder writes when it enters and when it leaves, whether its lock is still valid or not. */
function writes(key: string, holds: readonly Hold[]) {
  const all = holds.flatMap((hold) => [
    { at: hold.entered, hold },
    ...(hold.left === undefined ? [] : [{ at: hold.left, hold }]),
  ]);
  all.sort((one, other) => one.at - other.at);
  const violations: Violation[] = [];
  let refused = 0;
  let highest = Number.NEGATIVE_INFINITY;
  /** The holder that entered last among those whose write was accepted. */
  let latest: Hold | undefined;
  for (const { at, hold } of all) {
    if (hold.token < highest) {
      refused += 1;
      continue;
    }
    highest = hold.token;
    if (latest && hold.entered < latest.entered) {
      const text = `a fenced store took a stale write to ${key}: token ${hold.token} after ${latest.token}`;
      violations.push({ kind: 'stale write', at, text, holds: [hold, latest] });
    } else latest = hold;
  }
  return { violations, refused };
}

/** Two locks that share several keys collide on each of them; one report is enough. */
function withoutRepeats(violations: readonly Violation[]): Violation[] {
  const first = new Map<string, Violation>();
  for (const violation of violations) {
    const holds = violation.holds?.map(({ client, id }) => `${client} ${id}`).join();
    const name = `${violation.kind} ${holds ?? violation.text}`;
    if (!first.has(name)) first.set(name, violation);
  }
  return [...first.values()].sort((one, other) => (one.at ?? 0) - (other.at ?? 0));
}
