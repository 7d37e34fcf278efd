/** How the starts of a limiter are stored in Redis. `lua/0-limits-2-logs.lua` reads and writes the same text. */

import { parse } from '../../shared/protocol/malformed.js';
import type { RateLog } from '../../shared/protocol/rate-log.js';
import type { StartsState } from '../../shared/protocol/starts.js';
import { rateWord } from '../../shared/protocol/starts-wire.js';

const headPattern = /^(\d{16})(?: (\d+) (\d+) (\d+))?$/;
const logPattern = /^=(\S*) (\d+) (w|\d+) (\d{17})(\d{18})((?:\d{31})*)$/;

/** Reads a state. It has not expired, because the server still has it. */
export function loadStarts(text: string): StartsState {
  const what = 'the record of a limiter';
  const [head, ...lines] = text.split('\n');
  const [, seen, last = seen, offset = '0', until = '0'] = parse(what, head, headPattern);
  const logs = lines.map((line): RateLog => {
    const [, name = '', per, limit, edge, total, entries = ''] = parse(what, line, logPattern);
    const each = entries.match(/.{31}/g) ?? [];
    return {
      name: decodeURIComponent(name),
      per: Number(per),
      limit: limit === 'w' ? 0 : Number(limit),
      isBucket: limit !== 'w',
      edge: Number(edge) / 4,
      total: Number(total),
      times: each.map((entry) => Number(entry.slice(0, 16))),
      weights: each.map((entry) => Number(entry.slice(16))),
    };
  });
  return {
    seen: Number(seen),
    offset: Number(offset),
    last: Number(last),
    until: Number(until),
    expires: Number.POSITIVE_INFINITY,
    logs,
  };
}

const digits = (number: number, size: number): string => `${number}`.padStart(size, '0');

export function storeStarts({ seen, offset, last, until, logs }: StartsState): string {
  const lines = logs.map(({ name, per, limit, isBucket, edge, total, times, weights }) => {
    const entries = times.map((time, i) => digits(time, 16) + digits(weights[i] as number, 15));
    const head = `${rateWord(name)} ${per} ${isBucket ? limit : 'w'}`;
    return `${head} ${digits(edge * 4, 17)}${digits(total, 18)}${entries.join('')}`;
  });
  const isLong = last !== seen || offset > 0 || until > 0 || logs.length !== 1;
  const head = digits(seen, 16) + (isLong ? ` ${last} ${offset} ${until}` : '');
  return [head, ...lines].join('\n');
}
