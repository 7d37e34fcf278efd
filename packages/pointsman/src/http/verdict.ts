/**
 * A limiter's decision in HTTP: the fields of draft-ietf-httpapi-ratelimit-headers, and the response to a refused
 * request.
 *
 * Invariant: if a limiter has rates per key, clients see only these, because the rates of all keys together reveal how
 * busy the server is.
 */
import { checkFunction, invalid } from '../sync/errors.js';
import { checkOptions } from '../sync/options.js';

/** A rate after a decision. Times are milliseconds. */
export interface HttpRateState {
  readonly name: string;
  readonly perKey: boolean;
  readonly limit: number;
  readonly window: number;
  readonly remaining: number;
  readonly reset: number;
}

/** The limiter that these functions ask, such as a `SharedLimiter` of `pointsman/shared`. */
export interface HttpLimiter {
  /** Decides at once about one request of a key. All requests without a key share one. */
  check(key?: string): Promise<{
    readonly allowed: boolean;
    readonly retryAfter: number;
    readonly rates: readonly HttpRateState[];
  }>;
}

/**
 * A key, such as a user's id or a token. All requests with none, or with an empty one, share one. Of a key that a limiter
 * would refuse, longer than 1000 characters or with half a surrogate pair, the SHA-256 is used.
 */
export type HttpKey = string | null | undefined;

/** The response to a refused request. */
interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Verdict {
  /** These are appended, because each of several limiters on one request adds its own. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly refusal: Refusal | undefined;
}

/** Of the keys of a `SharedLimiter`. */
const MAX_KEY = 1_000;

const seconds = (ms: number): number => Math.ceil(ms / 1000);

/** A string of a structured field, which is ASCII. */
const quote = (name: string): string =>
  `"${name.replace(/[^ -~]/g, '_').replace(/["\\]/g, '\\$&')}"`;

/** Throws if the arguments of a middleware are invalid. */
export function checkArguments(limiter: HttpLimiter, options: object, key: unknown): void {
  if (typeof Object(limiter).check !== 'function') {
    throw invalid('limiter', limiter, 'a limiter with a method check');
  }
  checkOptions(options, ['key']);
  checkFunction('key', key);
}

/** Clients may choose the text of a key, and must not be able to cause errors with it. */
async function keyOf(key: string): Promise<string> {
  const bytes = new TextEncoder().encode(key);
  if (key.length <= MAX_KEY && new TextDecoder().decode(bytes) === key) return key;
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return `sha256:${[...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

export async function judge(limiter: HttpLimiter, key: HttpKey): Promise<Verdict> {
  const { allowed, retryAfter, rates } = await limiter.check(key ? await keyOf(key) : undefined);
  const own = rates.filter(({ perKey }) => perKey);
  const shown = own.length > 0 ? own : rates;
  const policies = shown.map(
    ({ name, limit, window }) => `${quote(name)};q=${limit};w=${seconds(window)}`,
  );
  const limits = shown.map(({ name, remaining, reset }) => {
    const item = `${quote(name)};r=${remaining}`;
    if (allowed) return `${item};t=${seconds(reset)}`;
    // `Retry-After` must not be earlier than a `t`, and says all about a rate that does not refuse.
    return remaining > 0 ? item : `${item};t=${seconds(Math.min(reset, retryAfter))}`;
  });
  const all = { 'RateLimit-Policy': policies, RateLimit: limits };
  // A field must not be empty.
  const used = Object.entries(all).filter(([, items]) => items.length > 0);
  const fields = used.map(([name, items]) => [name, items.join(', ')] as const);
  if (allowed) return { fields, refusal: undefined };
  const status = 429;
  const body = JSON.stringify({
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Too many requests',
    status,
    'violated-policies': shown.filter(({ remaining }) => remaining < 1).map(({ name }) => name),
  });
  const headers: Record<string, string> = { 'Content-Type': 'application/problem+json' };
  if (retryAfter < Infinity) headers['Retry-After'] = `${Math.max(1, seconds(retryAfter))}`;
  return { fields, refusal: { status, headers, body } };
}
