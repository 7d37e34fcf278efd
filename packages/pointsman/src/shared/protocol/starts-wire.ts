/** The wire format of the starts of limiters: a part of `wire.ts`. */

import { parse } from './malformed.js';
import type { Operation } from './protocol.js';
import type { StartRate } from './rate-log.js';
import type { StartGroup, StartRequest, StartResult } from './starts.js';

type StartOperation = Operation & { readonly name: 'start' | 'correct' | 'penalize' };

const ratesTexts = new WeakMap<readonly StartRate[], string>();

/** The name of a rate as one word. */
export const rateWord = (name: string): string => `=${encodeURIComponent(name)}`;

/** The rates of a limiter are one array for as long as they do not change. */
function ratesText(rates: readonly StartRate[]): string {
  let text = ratesTexts.get(rates);
  if (text === undefined) {
    text = rates
      .map(({ name, limit, per, burst }) => `${rateWord(name)} ${limit} ${per} ${burst}`)
      .join(' ');
    ratesTexts.set(rates, text);
  }
  return text;
}

/** Returns the number of a limiter or counter in the batch; assigns one if it is new. */
export function numberOf(record: string, records: Map<string, number>): number {
  let number = records.get(record);
  if (number === undefined) {
    number = records.size + 1;
    records.set(record, number);
  }
  return number;
}

/** A group omits the number of a limiter that is new in the batch. */
function groupText({ limiter, rates, weights }: StartGroup, limiters: Map<string, number>): string {
  const number = limiters.get(limiter) ?? '';
  if (number === '') limiters.set(limiter, limiters.size + 1);
  return `${number}:${weights.join(' ')} ${ratesText(rates)}`;
}

/** The numbers of the limiters that have only penalties. */
function othersText(groups: readonly StartGroup[], limiters: Map<string, number>): string {
  let text = '';
  for (const { limiter, rates } of groups) {
    if (rates.length === 0) text += ` ${numberOf(limiter, limiters)}`;
  }
  return text;
}

/**
 * The most common start, a single one from one window, as an operation of its own, which the script reads quickly. It
 * omits the number of its limiter, which is new in the batch, so most operations of a batch are equal.
 */
function quickText(
  { within, count, look, groups }: StartRequest,
  limiters: Map<string, number>,
): string | undefined {
  const { limiter, rates, weights } = groups[0] as StartGroup;
  const weight = weights[0] ?? 0;
  if (count > 1 || look || weight === 0 || rates.length > 1 || limiters.has(limiter))
    return undefined;
  if ((rates[0] as StartRate).burst > 0) return undefined;
  for (let i = 1; i < groups.length; i++) if (groups[i]?.rates.length !== 0) return undefined;
  limiters.set(limiter, limiters.size + 1);
  return `now ${within} ${weight} ${ratesText(rates)}${othersText(groups, limiters)}`;
}

/** Encodes an operation. Numbers the limiters that are new in the batch. */
export function startArguments(
  operation: StartOperation,
  limiters: Map<string, number>,
): readonly string[] {
  switch (operation.name) {
    case 'start': {
      const { within, count, time, look, groups, held = [] } = operation;
      const quick = held.length === 0 ? quickText(operation, limiters) : undefined;
      if (quick !== undefined) return [quick];
      const words = [''];
      for (const group of groups)
        if (group.rates.length > 0) words.push(groupText(group, limiters));
      const numbers = `${within} ${count} ${time} ${look ? 1 : 0} ${words.length - 1}`;
      words[0] = `start ${numbers}${othersText(groups, limiters)}`;
      if (held.length === 0) return words;
      const ids = held.map(({ id }) => id).join(' ');
      return [`held ${ids}`, ...held.map(({ key }) => key), ...words];
    }
    case 'correct': {
      const { groups, at } = operation;
      const moments = groups.map((_, i) => at[i]);
      return [`correct ${moments.join(' ')}`, ...groups.map((each) => groupText(each, limiters))];
    }
    case 'penalize':
      return [`penalize ${numberOf(operation.limiter, limiters)} ${operation.time}`];
  }
}

interface Recorded {
  readonly groups?: readonly StartGroup[];
  readonly limiter?: string;
  readonly counter?: string;
}

/** Returns the limiters or counters that operations use, which are keys of their own on the server. */
export function recordsOf(operations: readonly Operation[]): Set<string> {
  const records = new Set<string>();
  for (const operation of operations) {
    const { groups = [], limiter, counter = limiter } = operation as Recorded;
    for (const group of groups) records.add(group.limiter);
    if (counter !== undefined) records.add(counter);
  }
  return records;
}

const reply = 'the reply of the server';

/** The result of `now`: the delay, what is left, when all of it is left again, and the moment if granted. */
const quickPattern = /^now (\d+) (\d+) (\d+)(?: (\d+))?$/;

/** `<granted> <delay> <count> <next> <index of a group>`, the moments, and for each rate what is left and until when. */
const startPattern =
  /^start ([01]) (-1|\d+) (\d+) (\d+) (\d+) ((?:\d+,)*) ((?:\d+,)*) ((?:\d+,)*)$/;

/** Decodes the result of a start. */
export function startResultOf(line: string, groups: readonly StartGroup[]): StartResult {
  if (line.startsWith('now ')) return quickResultOf(line, groups);
  const words = parse(reply, line, startPattern).slice(1) as string[];
  const numbers = words.slice(1, 5).map(Number) as [number, number, number, number];
  const [delay, count, next, by] = numbers;
  const [at, remaining, reset] = words
    .slice(5)
    .map((list) => list.split(',').slice(0, -1).map(Number)) as [number[], number[], number[]];
  const granted = words[0] === '1';
  return { name: 'start', granted, delay, at, count, next, by, remaining, reset };
}

function quickResultOf(line: string, groups: readonly StartGroup[]): StartResult {
  const [, delay, left, reset, moment] = parse(reply, line, quickPattern);
  const granted = moment !== undefined;
  const at = Number(moment);
  return {
    name: 'start',
    granted,
    delay: Number(delay),
    at: granted ? groups.map(() => at) : [],
    count: granted ? 1 : 0,
    next: 0,
    by: 0,
    remaining: [Number(left)],
    reset: [Number(reset)],
  };
}
