/** The stored form of the starts of a limiter in Redis, which the script reads and writes too: `lua/0-limits.lua`. */

import type { RateLog, StartsState } from '../../shared/protocol/starts.js';
import { parse, rateWord } from '../../shared/protocol/wire.js';

const headPattern = /^(\d+) (\d+) (\d+) (\d+)$/;
const logPattern = /^=(\S*) (\d+) (\d+) ([wb]) (\d+) (\d+) ((?:\d{31})*)$/;

/** Reads a state. It has not expired, because the server still has it. */
export function loadStarts(text: string): StartsState {
  const what = 'the record of a limiter';
  const [head, ...lines] = text.split('\n');
  const words = parse(what, head, headPattern).slice(1, 5).map(Number);
  const [seen, offset, last, until] = words as [number, number, number, number];
  const logs = lines.map((line): RateLog => {
    const [, name = '', per, limit, kind, edge, total, entries = ''] = parse(
      what,
      line,
      logPattern,
    );
    const each = entries.match(/.{31}/g) ?? [];
    return {
      name: decodeURIComponent(name),
      per: Number(per),
      limit: Number(limit),
      isBucket: kind === 'b',
      edge: Number(edge) / 4,
      total: Number(total),
      times: each.map((entry) => Number(entry.slice(0, 16))),
      weights: each.map((entry) => Number(entry.slice(16))),
    };
  });
  return { seen, offset, last, until, expires: Number.POSITIVE_INFINITY, logs };
}

export function storeStarts({ seen, offset, last, until, logs }: StartsState): string {
  const lines = logs.map(({ name, per, limit, isBucket, edge, total, times, weights }) => {
    const entries = times.map((time, i) => {
      const weight = `${weights[i]}`;
      return `${time}`.padStart(16, '0') + weight.padStart(15, '0');
    });
    const kind = isBucket ? 'b' : 'w';
    const head = `${rateWord(name)} ${per} ${limit} ${kind} ${edge * 4} ${total}`;
    return `${head} ${entries.join('')}`;
  });
  return [`${seen} ${offset} ${last} ${until}`, ...lines].join('\n');
}
