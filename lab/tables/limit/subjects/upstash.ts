/**
 * The two windows of @upstash/ratelimit. It runs its scripts through a client for Upstash's HTTP interface, of which it
 * uses `evalsha` and `eval`; here ioredis runs them.
 */
import { createHash } from 'node:crypto';
import type { Ratelimit, RatelimitConfig } from '@upstash/ratelimit';
import type { Redis } from 'ioredis';
import { connectIoredis } from '../../../harness/redis-clients.js';
import type { LimitSubject, Rule } from '../subject.js';

type Duration = Parameters<typeof Ratelimit.fixedWindow>[1];

/** A script begins with a line that declares a flag of Upstash's server, which Redis refuses. */
const shebang = /^\s*#!.*\n/;

function onServer(connection: Redis): unknown {
  /** The hashes of the scripts without that line, by the hashes with it. */
  const hashes = new Map<string, string>();
  return {
    evalsha(sha: string, keys: string[], words: unknown[]) {
      const hash = hashes.get(sha);
      if (hash === undefined) throw new Error('NOSCRIPT');
      return connection.evalsha(hash, keys.length, ...keys, ...words.map(String));
    },
    async eval(script: string, keys: string[], words: unknown[]) {
      const text = script.replace(shebang, '');
      hashes.set(
        createHash('sha1').update(script).digest('hex'),
        String(await connection.script('LOAD', text)),
      );
      return connection.eval(text, keys.length, ...keys, ...words.map(String));
    },
  };
}

function define(
  window: string,
  about: string,
  limiterOf: (
    limits: typeof Ratelimit,
    limit: Rule['limit'],
    per: Duration,
  ) => RatelimitConfig['limiter'],
): LimitSubject {
  return {
    name: `@upstash/ratelimit, ${window}`,
    role: 'peer',
    package: '@upstash/ratelimit',
    note: `Its scripts on this server by ioredis. ${about}`,
    async connect(address, namespace, { limit, per }) {
      const { Ratelimit } = await import('@upstash/ratelimit');
      const connection = await connectIoredis(address);
      const redis = onServer(connection) as RatelimitConfig['redis'];
      const limiter = new Ratelimit({
        redis,
        prefix: namespace,
        limiter: limiterOf(Ratelimit, limit, `${per} ms`),
      });
      return {
        async decide(key) {
          const { success, reason } = await limiter.limit(key);
          // It lets requests through when the server is late.
          if (reason === 'timeout') throw new Error('the server did not answer in its time');
          return success;
        },
        close: async () => connection.disconnect(),
      };
    },
  };
}

export const slidingWindow = define(
  'sliding window',
  'Two fixed windows; the previous one counts by its overlap.',
  (limits, limit, per) => limits.slidingWindow(limit, per),
);

export const fixedWindow = define('fixed window', 'Fixed windows.', (limits, limit, per) =>
  limits.fixedWindow(limit, per),
);
