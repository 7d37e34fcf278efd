/**
 * Checks batches before they are applied.
 *
 * Invariant: what passes has the shape of a batch, so applying it cannot fail half-way.
 */

import type { Batch, Operation, Share } from '../shared/protocol/protocol.js';
import type { StartRate } from '../shared/protocol/rate-log.js';
import type { StartGroup } from '../shared/protocol/starts.js';

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isNames: Check = (value) => Array.isArray(value) && value.every(isText);
const isKeys: Check = (value) => isNames(value) && (value as string[]).length > 0;
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isInteger: Check = (value) => Number.isSafeInteger(value);
const isFlag: Check = (value) => typeof value === 'boolean';
const isId: Check = (value) => isText(value) && /^[^\s/]+\.\d+\/\d+~?$/.test(value as string);
const isSession: Check = (value) => isText(value) && /^[^\s/]+\.\d+$/.test(value as string);

const isShare: Check = (value) => {
  if (value === undefined) return true;
  const { weight, limit } = Object(value) as Partial<Share>;
  return isCount(weight) && weight !== 0 && isCount(limit);
};

const isNumber: Check = (value) => Number.isFinite(value);
const isTime: Check = (value) => isNumber(value) && (value as number) >= 0;
const areNumbers: Check = (value) => Array.isArray(value) && value.every(isNumber);

const isRate: Check = (value) => {
  const { name, limit, per, burst } = Object(value) as Partial<StartRate>;
  return isText(name) && isCount(limit) && limit !== 0 && isTime(per) && isCount(burst);
};

const isGroup: Check = (value) => {
  const { limiter, rates, weights } = Object(value) as Partial<StartGroup>;
  return (
    isText(limiter) &&
    Array.isArray(rates) &&
    rates.every(isRate) &&
    Array.isArray(weights) &&
    weights.length === rates.length &&
    weights.every(isNumber)
  );
};
const areGroups: Check = (value) =>
  Array.isArray(value) && value.length > 0 && value.every(isGroup);

const isHeld: Check = (value) =>
  value === undefined ||
  (Array.isArray(value) &&
    value.every((each) => isId(Object(each).id) && isText(Object(each).key)));

const operations: Record<Operation['name'], Readonly<Record<string, Check>>> = {
  lock: {
    id: isId,
    tokens: isCount,
    wait: isFlag,
    keys: isKeys,
    optional: isNames,
    share: isShare,
  },
  downgrade: { id: isId, keys: isNames },
  limit: { key: isText, limit: isCount },
  unlock: { id: isId, keys: isNames },
  take: { id: isId, token: isCount, keys: isNames },
  check: { id: isId, keys: isNames },
  wait: { id: isId, condition: isText, keys: isKeys },
  wake: { id: isId },
  notify: { condition: isText, count: isCount },
  reserve: { tokens: isCount },
  renew: {},
  leave: { session: isSession },
  query: {},
  start: {
    groups: areGroups,
    within: isNumber,
    count: isCount,
    time: isTime,
    look: isFlag,
    held: isHeld,
  },
  correct: { groups: areGroups, at: areNumbers },
  penalize: { limiter: isText, time: isTime },
  count: { counter: isText, by: isInteger, window: isCount, above: isCount, growth: isCount },
  forget: { counter: isText },
};

const STARTS: ReadonlySet<string> = new Set(['start', 'correct', 'penalize']);
const COUNTS: ReadonlySet<string> = new Set(['count', 'forget']);

const batch: Readonly<Record<Exclude<keyof Batch, 'operations'>, Check>> = {
  session: (value) => value === '' || isSession(value),
  ttl: (value) => isCount(value) && (value as number) > 0,
  incarnation: isCount,
  join: (value) => typeof value === 'string' && ['new', 'must', 'again', 'none'].includes(value),
  time: (value) => value === undefined || isCount(value),
  run: (value) => value === undefined || isText(value),
  secret: isText,
};

const has = (value: object, fields: Readonly<Record<string, Check>>): boolean => {
  for (const name in fields) {
    if (!fields[name]?.((value as Record<string, unknown>)[name])) return false;
  }
  return true;
};

const isOperation = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  const { name } = value as { name: unknown };
  return (
    typeof name === 'string' &&
    Object.hasOwn(operations, name) &&
    has(value, operations[name as Operation['name']])
  );
};

export function isBatch(value: unknown): value is Batch {
  if (typeof value !== 'object' || value === null || !has(value, batch)) return false;
  const { operations, session, join } = value as Batch;
  if (!Array.isArray(operations) || !operations.every(isOperation)) return false;
  if (join !== 'none') return session !== '' && !operations.some(({ name }) => COUNTS.has(name));
  // Starts need no session, and neither do counters, which travel apart; everything else does.
  const [kind] = [STARTS, COUNTS].filter((kind) => kind.has(operations[0]?.name ?? 'start'));
  return session === '' && operations.every((each) => kind?.has(each.name) && !('held' in each));
}
