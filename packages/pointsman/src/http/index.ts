/**
 * Rate limiting for Fetch handlers, Hono, Express and Fastify, with a limiter such as `SharedLimiter` of
 * `pointsman/shared`. Responses have the fields of draft-ietf-httpapi-ratelimit-headers. Runs wherever these frameworks
 * do.
 *
 * @module pointsman/http
 */

export { addressKey } from './address.js';
export {
  type FetchHandler,
  type FetchLimitOptions,
  type FetchParameters,
  type HonoContext,
  type HonoLimitOptions,
  rateLimitFetch,
  rateLimitHono,
} from './fetch.js';
export {
  type ExpressResponse,
  type FastifyReply,
  rateLimitExpress,
  rateLimitFastify,
  type ServerLimitOptions,
  type ServerRequest,
} from './node.js';
export type { HttpKey, HttpLimiter, HttpRateState } from './verdict.js';
