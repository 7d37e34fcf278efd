/**
 * Decides from the histories of all client processes whether a lock kept its promises.
 *
 * Invariant: no false accusation. A holder counts as valid from its grant to the last time its own guard said so,
 * never longer. The server is not asked, and all times are those of the machine's clock.
 */
import type { History, Hold } from './history.js';
import type { Share } from './subjects/subject.js';

export type Kind =
  | 'late' // granted when it was no longer valid
  | 'overlap' // two valid holders that exclude each other, or more weight than the limit
  | 'token' // a token not above that of an earlier grant of the key
  | 'stale write' // a fenced store accepted a write of an earlier holder after one of a later holder
  | 'revived' // valid again after its signal had aborted
  | 'silent' // no longer valid, and its signal did not abort
  | 'usurped' // the server has granted another client what a valid holder holds
  | 'forgotten' // the server has no record of a valid holder
  | 'stranded' // a lock() that did not settle after the fault was over
  | 'leak' // something remained on the server
  | 'above the limit' // a window with more starts than the limit
  | 'early' // a start without a grant, or before its moment
  | 'unused' // less of a limit was used than is promised
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

/** A holder as long as it shares its key in one way: a writer that becomes a reader is two. */
interface Stay {
  readonly hold: Hold;
  readonly from: number;
  /** The last time it was certainly valid. */
  readonly until: number;
  readonly share: Share | undefined;
}

const reader: Share = { weight: 1, limit: 0 };

function staysOf(hold: Hold): Stay[] {
  const { entered: from, lastValid: until, downgraded, share } = hold;
  if (until === undefined) return [];
  if (downgraded === undefined || downgraded > until) return [{ hold, from, until, share }];
  return [
    { hold, from, until: downgraded, share },
    { hold, from: downgraded, until, share: reader },
  ];
}

function overlaps(key: string, holds: readonly Hold[]): Violation[] {
  const found: Violation[] = [];
  const stays = holds.flatMap(staysOf).sort((one, other) => one.from - other.from);
  let inside: Stay[] = [];
  for (const stay of stays) {
    inside = inside.filter(({ until, hold }) => stay.from <= until && hold !== stay.hold);
    const { hold, from, share } = stay;
    const alone = inside.find((other) => share === undefined || other.share === undefined);
    if (alone !== undefined) {
      const milliseconds = (Math.min(alone.until, stay.until) - from) / 1e6;
      const text = `two valid holders of ${key} for at least ${milliseconds.toFixed(3)} ms`;
      found.push({ kind: 'overlap', at: from, text, holds: [alone.hold, hold] });
    }
    inside.push(stay);
    const weight = inside.reduce((sum, other) => sum + (other.share?.weight ?? 0), 0);
    if (share !== undefined && share.limit > 0 && weight > share.limit) {
      const text = `permits of ${key} are held with a weight of ${weight}, above ${share.limit}`;
      found.push({ kind: 'overlap', at: from, text, holds: inside.map((each) => each.hold) });
    }
  }
  return found;
}

const excludes = (one: Share | undefined, other: Share | undefined): boolean =>
  one === undefined ||
  other === undefined ||
  (one.limit > 0 && one.weight + other.weight > one.limit);

/**
 * The order of two grants is known if the holders exclude each other, and if one was requested after the other had
 * entered. That does not hold for permits, which the tasks of a process hand to each other with tokens of the first.
 */
function tokens(key: string, holds: readonly Hold[]): Violation[] {
  const found: Violation[] = [];
  /** Of each way to share the key, the holder with the highest token. */
  const highest = new Map<string, Hold>();
  let before: Hold | undefined;
  const byRequest = holds.toSorted((one, other) => one.requested - other.requested);
  const valid = holds.filter(({ atEntry }) => atEntry === 'valid');
  const compare = (hold: Hold, earlier: Hold) => {
    if (hold.token > earlier.token) return;
    const text = `token ${hold.token} for ${key} after ${earlier.token}`;
    found.push({ kind: 'token', at: hold.entered, text, holds: [earlier, hold] });
  };
  for (const hold of valid) {
    for (const earlier of highest.values()) {
      if (excludes(hold.share, earlier.share)) compare(hold, earlier);
    }
    const way = hold.share === undefined ? '' : `${hold.share.weight} ${hold.share.limit}`;
    const same = highest.get(way);
    if (same === undefined || hold.token > same.token) highest.set(way, hold);
  }
  let entered = 0;
  for (const hold of byRequest) {
    if (hold.atEntry !== 'valid') continue;
    for (let next = valid[entered]; next && next.entered < hold.requested; next = valid[entered]) {
      if (before === undefined || next.token > before.token) before = next;
      entered += 1;
    }
    const isPermit = hold.share !== undefined && hold.share.limit > 0;
    if (before !== undefined && !isPermit) compare(hold, before);
  }
  return found;
}

/** Every holder that excludes the others writes when it enters and when it leaves, whether its lock is still valid or not. */
function writes(key: string, holds: readonly Hold[]) {
  const writers = holds.filter(({ share }) => share === undefined);
  const all = writers.flatMap((hold) => {
    const { entered, left, downgraded } = hold;
    const isOver = left === undefined || downgraded !== undefined;
    return [{ at: entered, hold }, ...(isOver ? [] : [{ at: left, hold }])];
  });
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
