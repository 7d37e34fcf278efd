/** Rate limiting for functions from a `Request` to a `Response`, and for Hono. */
import { checkFunction } from '../sync/errors.js';
import { checkArguments, type HttpKey, type HttpLimiter, judge } from './verdict.js';

/** A function from a `Request`, and further parameters of the platform, to a `Response`. */
export type FetchHandler = {
  // A method, so that the request may be the framework's own, such as Next's.
  // biome-ignore lint/suspicious/noExplicitAny: the parameters are those of the platform
  fetch(request: Request, ...rest: any[]): Response | PromiseLike<Response>;
}['fetch'];

/** The parameters of a handler, at least a request. */
export type FetchParameters<H extends FetchHandler> =
  Parameters<H> extends [] ? [request: Request] : Parameters<H>;

/** Options for {@link rateLimitFetch}. */
export interface FetchLimitOptions<H extends FetchHandler> {
  /** Returns the key of a request, for example the user's id, from the parameters of the handler. */
  readonly key: (...parameters: FetchParameters<H>) => HttpKey | PromiseLike<HttpKey>;
}

/**
 * Returns a handler that limits requests and passes the admitted ones to `handler`: for Deno, Bun, Workers, Next's
 * routes, and a whole Hono application with its `fetch`. Parameters behind the request are passed on.
 *
 * A refused request gets status 429, `Retry-After` and a problem in JSON. Each response has `RateLimit-Policy` and
 * `RateLimit`, with the rates of the key, or of the limiter if it has none for each key. The handler rejects if the
 * limiter does, for example because it has no decision and its `whenUnavailable` is `'refuse'`.
 *
 * A `Request` has no address. Take it from the platform's parameter, or from a field that the platform's own proxy always
 * overwrites, such as `CF-Connecting-IP` in Workers, and pass it through {@link addressKey}. A client can send
 * `X-Forwarded-For` itself, and so choose its key.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis';
 * import { rateLimitFetch } from 'pointsman/http';
 * import { redis } from 'pointsman/redis';
 * import { SharedLimiter } from 'pointsman/shared';
 *
 * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
 * const rate = { limit: 1, per: 60_000, name: 'minute' };
 * const limiter = new SharedLimiter(redis(client), 'http-fetch', { perKey: { rate } });
 * const handler = rateLimitFetch(limiter, () => new Response('hello'), {
 *   key: (request) => request.headers.get('x-api-key'),
 * });
 *
 * const request = () => new Request('https://example.com', { headers: { 'x-api-key': 'a1' } });
 * const first = await handler(request());
 * console.log(first.headers.get('ratelimit-policy')); // "minute";q=1;w=60
 * console.log(first.headers.get('ratelimit')); // "minute";r=0;t=60
 * console.log((await handler(request())).status); // 429
 * await limiter.close();
 * client.disconnect();
 * ```
 *
 * @throws {TypeError} if an argument is invalid.
 */
export function rateLimitFetch<H extends FetchHandler>(
  limiter: HttpLimiter,
  handler: H,
  options: FetchLimitOptions<H>,
): (...parameters: FetchParameters<H>) => Promise<Response> {
  checkFunction('handler', handler);
  const { key } = options;
  checkArguments(limiter, options, key);
  return async (...parameters) => {
    const { fields, refusal } = await judge(limiter, await key(...parameters));
    const response = refusal && new Response(refusal.body, refusal);
    return withFields(
      response ?? (await handler(...(parameters as Parameters<FetchHandler>))),
      fields,
    );
  };
}

function withFields(given: Response, fields: readonly (readonly [string, string])[]): Response {
  // An error, or an upgrade to a WebSocket: it cannot be copied.
  if (given.status < 200) return given;
  // The fields of a response may be immutable, and a response without a body may be used again.
  const response = new Response(given.body, given);
  for (const [name, value] of fields) response.headers.append(name, value);
  return response;
}

/** What {@link rateLimitHono} needs of Hono's `Context`. */
export interface HonoContext {
  readonly req: { header(name: string): string | undefined };
  readonly res: Response;
  header(name: string, value: string, options: { append: boolean }): void;
}

/** Options for {@link rateLimitHono}. */
export interface HonoLimitOptions<C extends HonoContext> {
  /**
   * Returns the key of a request, for example the user's id, or the address that `getConnInfo` of Hono returns. Annotate
   * its parameter with Hono's `Context` to use more of it.
   */
  readonly key: (context: C) => HttpKey | PromiseLike<HttpKey>;
}

/**
 * Returns a middleware for Hono 4 that limits requests. Keys and responses are those of {@link rateLimitFetch}; Hono's
 * `onError` gets the errors of the limiter.
 *
 * @example
 * ```ts
 * import { Hono } from 'hono';
 * import { Redis } from 'ioredis';
 * import { rateLimitHono } from 'pointsman/http';
 * import { redis } from 'pointsman/redis';
 * import { SharedLimiter } from 'pointsman/shared';
 *
 * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
 * const limiter = new SharedLimiter(redis(client), 'http-hono', {
 *   perKey: { rate: { limit: 100, per: 60_000 } },
 * });
 * const app = new Hono();
 * app.use('/api/*', rateLimitHono(limiter, { key: (c) => c.req.header('x-api-key') }));
 * app.get('/api/hello', (c) => c.text('hello'));
 *
 * const response = await app.request('/api/hello', { headers: { 'x-api-key': 'a1' } });
 * console.log(response.headers.get('ratelimit')); // "rate";r=99;t=60
 * await limiter.close();
 * client.disconnect();
 * ```
 *
 * @throws {TypeError} if an argument is invalid.
 */
export function rateLimitHono<C extends HonoContext>(
  limiter: HttpLimiter,
  options: HonoLimitOptions<C>,
): (context: NoInfer<C>, next: () => Promise<void>) => Promise<Response | undefined> {
  const { key } = options;
  checkArguments(limiter, options, key);
  return async (context, next) => {
    const { fields, refusal } = await judge(limiter, await key(context));
    if (refusal !== undefined) return withFields(new Response(refusal.body, refusal), fields);
    await next();
    if (context.res.status < 200) return;
    for (const [name, value] of fields) context.header(name, value, { append: true });
  };
}
