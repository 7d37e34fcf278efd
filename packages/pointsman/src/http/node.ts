/**
 * Rate limiting for Express and Fastify.
 *
 * Invariant: by default a client cannot choose its key: the address that the framework reports. It is the
 * socket's unless the application trusts a proxy; then the framework reads `X-Forwarded-For`.
 */
import { addressKey } from './address.js';
import { checkArguments, type HttpKey, type HttpLimiter, judge } from './verdict.js';

/** What {@link rateLimitExpress} and {@link rateLimitFastify} need of a request. */
export interface ServerRequest {
  readonly ip?: string | undefined;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
}

/** Options for {@link rateLimitExpress} and {@link rateLimitFastify}. */
export interface ServerLimitOptions<R extends ServerRequest> {
  /**
   * Returns the key of a request, for example the user's id; annotate its parameter with the framework's type to use more
   * of it. Default: {@link addressKey} of `request.ip`, the address of the socket.
   *
   * Behind a proxy that is the proxy's address, so all clients share a limit, until the application names the proxies
   * that it trusts: in Express with `app.set('trust proxy', '10.0.0.0/8')`, in Fastify with `trustProxy: '10.0.0.0/8'`.
   * Do not trust all: clients can send `X-Forwarded-For` themselves, and with `true` they choose their keys.
   */
  readonly key?: ((request: R) => HttpKey | PromiseLike<HttpKey>) | undefined;
}

/** What {@link rateLimitExpress} needs of a response. */
export interface ExpressResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  appendHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

const byAddress = ({ ip }: ServerRequest): HttpKey => addressKey(ip);

/**
 * Returns a middleware for Express 5 that limits requests, by default by address: see {@link ServerLimitOptions.key}.
 *
 * A refused request gets status 429, `Retry-After` and a problem in JSON. Each response has `RateLimit-Policy` and
 * `RateLimit`, with the rates of the key, or of the limiter if it has none for each key. Express passes an error of the
 * limiter to its error handlers, for example if it has no decision and its `whenUnavailable` is `'refuse'`.
 *
 * @example
 * ```ts
 * import { once } from 'node:events';
 * import type { AddressInfo } from 'node:net';
 * import express from 'express';
 * import { Redis } from 'ioredis';
 * import { rateLimitExpress } from 'pointsman/http';
 * import { redis } from 'pointsman/redis';
 * import { SharedLimiter } from 'pointsman/shared';
 *
 * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
 * const limiter = new SharedLimiter(redis(client), 'http-express', {
 *   perKey: { rate: { limit: 100, per: 60_000 } },
 * });
 * const app = express();
 * app.use(rateLimitExpress(limiter));
 * app.get('/', (_, response) => void response.send('hello'));
 *
 * const server = app.listen(0);
 * await once(server, 'listening');
 * const response = await fetch(`http://localhost:${(server.address() as AddressInfo).port}`);
 * console.log(response.headers.get('ratelimit')); // "rate";r=99;t=60
 * server.close();
 * await limiter.close();
 * client.disconnect();
 * ```
 *
 * @throws {TypeError} if an argument is invalid.
 */
export function rateLimitExpress<R extends ServerRequest>(
  limiter: HttpLimiter,
  options: ServerLimitOptions<R> = {},
): (request: NoInfer<R>, response: ExpressResponse, next: () => void) => Promise<void> {
  const { key = byAddress } = options;
  checkArguments(limiter, options, key);
  return async (request, response, next) => {
    const { fields, refusal } = await judge(limiter, await key(request));
    for (const [name, value] of fields) response.appendHeader(name, value);
    if (refusal === undefined) return next();
    response.statusCode = refusal.status;
    for (const [name, value] of Object.entries(refusal.headers)) response.setHeader(name, value);
    response.end(refusal.body);
  };
}

/** What {@link rateLimitFastify} needs of a reply. */
export interface FastifyReply {
  code(status: number): unknown;
  header(name: string, value: string): unknown;
  headers(values: Readonly<Record<string, string>>): unknown;
  getHeader(name: string): unknown;
  send(body: string): unknown;
}

/**
 * Returns an `onRequest` hook for Fastify 5 that limits requests, by default by address. Keys and responses are those of
 * {@link rateLimitExpress}; Fastify's error handler gets the errors of the limiter.
 *
 * @example
 * ```ts
 * import fastify from 'fastify';
 * import { Redis } from 'ioredis';
 * import { rateLimitFastify } from 'pointsman/http';
 * import { redis } from 'pointsman/redis';
 * import { SharedLimiter } from 'pointsman/shared';
 *
 * const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost');
 * const limiter = new SharedLimiter(redis(client), 'http-fastify', {
 *   perKey: { rate: { limit: 100, per: 60_000 } },
 * });
 * const app = fastify();
 * app.addHook('onRequest', rateLimitFastify(limiter));
 * app.get('/', async () => 'hello');
 *
 * const response = await app.inject('/');
 * console.log(response.headers.ratelimit); // "rate";r=99;t=60
 * await app.close();
 * await limiter.close();
 * client.disconnect();
 * ```
 *
 * @throws {TypeError} if an argument is invalid.
 */
export function rateLimitFastify<R extends ServerRequest>(
  limiter: HttpLimiter,
  options: ServerLimitOptions<R> = {},
): (request: NoInfer<R>, reply: FastifyReply) => Promise<unknown> {
  const { key = byAddress } = options;
  checkArguments(limiter, options, key);
  return async (request, reply) => {
    const { fields, refusal } = await judge(limiter, await key(request));
    for (const [name, value] of fields) {
      const others = reply.getHeader(name);
      reply.header(name, others === undefined ? value : `${others}, ${value}`);
    }
    if (refusal === undefined) return;
    reply.code(refusal.status);
    reply.headers(refusal.headers);
    reply.send(refusal.body);
    // Tells Fastify that the response is sent.
    return reply;
  };
}
