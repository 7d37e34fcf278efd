/** Parses the `Retry-After` header of a response. */

import { invalid } from '../errors.js';

interface Getter {
  get(name: string): unknown;
}

/** An HTTP date: `Sun, 06 Nov 1994 08:49:37 GMT`. */
const date = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;
const seconds = /^\d+(\.\d+)?$/;

/**
 * Returns the delay in milliseconds that a service asks for in its `Retry-After` header. The header is a number of
 * seconds or an HTTP date; a date is compared with `Date.now()`, and a past date gives 0. Returns `undefined` if the
 * header is missing or is neither.
 *
 * @param source A `Response` of `fetch`, a response of Node's `http`, or its headers: `Headers`, a `Map`, an object.
 * @throws {TypeError} if `source` is not an object.
 *
 * @example
 * ```ts
 * import { retryAfter } from 'pointsman';
 *
 * const response = new Response('busy', { status: 429, headers: { 'Retry-After': '120' } });
 * console.log(retryAfter(response)); // 120000
 * console.log(retryAfter({ 'retry-after': 'Sun, 06 Nov 1994 08:49:37 GMT' })); // 0
 * console.log(retryAfter(new Headers())); // undefined
 * ```
 */
export function retryAfter(source: object): number | undefined {
  if (typeof source !== 'object' || source === null) {
    throw invalid('source', source, 'a response or its headers');
  }
  const { headers = source } = source as { readonly headers?: object };
  const value = `${headerOf(Object(headers)) ?? ''}`.trim();
  if (date.test(value)) {
    const at = Date.parse(value);
    return Number.isNaN(at) ? undefined : Math.max(at - Date.now(), 0);
  }
  const ms = Number(value) * 1_000;
  return seconds.test(value) && ms < Infinity ? ms : undefined;
}

function headerOf(headers: Partial<Getter>): unknown {
  if (typeof headers.get === 'function') {
    return headers.get('retry-after') ?? headers.get('Retry-After');
  }
  const entry = Object.entries(headers).find(([name]) => name.toLowerCase() === 'retry-after');
  return entry?.[1];
}
