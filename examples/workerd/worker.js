/**
 * A Worker that caches exchange rates. All requests of an isolate share the cache and one lock per currency: a request
 * that arrives while its rate is being fetched waits instead of fetching it too. To try it:
 *
 *     npm run build
 *     npm start -- --external-addr rates=localhost:8080
 *     curl http://localhost:8787/EUR
 *
 * where localhost:8080 is any server that answers /EUR with a text.
 */
import { KeyedMutex, TimeoutError } from 'pointsman';

const fresh = 60_000;
const locks = new KeyedMutex();
/** @type {Map<string, { text: string, until: number }>} */
const cache = new Map();

/** @param {string} currency @param {{ rates: { fetch: typeof fetch } }} env */
async function load(currency, env) {
  const cached = cache.get(currency);
  if (cached && cached.until > Date.now()) return cached.text; // an earlier request has fetched it
  const response = await env.rates.fetch(`http://rates/${currency}`);
  if (!response.ok) throw new Error(`the source of rates answered ${response.status}`);
  const text = await response.text();
  cache.set(currency, { text, until: Date.now() + fresh });
  return text;
}

export default {
  async fetch(request, env, context) {
    const [, currency] = new URL(request.url).pathname.split('/');
    if (!/^[A-Z]{3}$/.test(currency)) return new Response(null, { status: 404 });
    // A request that waits for another one needs a timeout, and waitUntil: see docs/sync.md, "Cloudflare Workers".
    const work = locks.run(currency, () => load(currency, env), { timeout: 5_000 });
    context.waitUntil(work.catch(() => {}));
    try {
      return new Response(await work);
    } catch (error) {
      return new Response(null, { status: error instanceof TimeoutError ? 503 : 502 });
    }
  },
};
