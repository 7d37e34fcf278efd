/** The header `Retry-After`, in all its forms. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { retryAfter } from '../index.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('Sun, 06 Nov 1994 08:49:37 GMT') });
});

afterEach(() => {
  vi.useRealTimers();
});

const name = 'retry-after';

test.each<[unknown, number | undefined]>([
  ['120', 120_000],
  ['0', 0],
  [' 1.5 ', 1_500],
  [7, 7_000],
  [['3'], 3_000],
  ['Sun, 06 Nov 1994 08:49:40 GMT', 3_000],
  ['Sun, 06 Nov 1994 08:49:30 GMT', 0],
  // Garbage, some of which Date.parse and Number accept.
  ...[
    '',
    'soon',
    'soon 5',
    '-1',
    '1e3',
    '0x10',
    '5, 10',
    'Infinity',
    'NaN',
    '9'.repeat(400),
    '1994-11-06',
    'Xxx, 99 Xxx 1994 08:49:37 GMT',
    null,
    undefined,
    {},
  ].map((value): [unknown, undefined] => [value, undefined]),
])('%s is %s ms', (value, ms) => {
  const map = new Map([[name, value]]);
  for (const headers of [{ [name]: value }, { 'Retry-After': value }, map]) {
    expect(retryAfter(headers)).toBe(ms);
    expect(retryAfter({ headers })).toBe(ms);
  }
  if (typeof value !== 'string') return;
  const response = new Response('busy', { status: 429, headers: { [name]: value } });
  expect([retryAfter(response), retryAfter(response.headers)]).toEqual([ms, ms]);
});

test('returns undefined if the header is missing', () => {
  for (const none of [new Response(), new Headers(), {}, { headers: {} }, new Map(), []]) {
    expect(retryAfter(none)).toBeUndefined();
  }
});

test.each([undefined, null, '120', 120])('throws for %s', (source) => {
  expect(() => retryAfter(source as never)).toThrow(
    /source must be a response or its headers, got/,
  );
});
