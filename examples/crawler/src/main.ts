/**
 * Crawls the given sites and prints the status and the address of each page:
 *
 *     npm run build
 *     npm start -- https://example.org/
 *
 * At most five requests a second and two at once per host, and sixteen at once in total.
 */
import { Limiter } from 'pointsman';
import { crawl } from './crawl.js';

const starts = process.argv.slice(2);
const hosts = new Set(starts.map((start) => new URL(start).host));
const stopping = new AbortController();
process.once('SIGINT', () => stopping.abort(new Error('interrupted')));

const limiter = new Limiter({
  concurrency: 16,
  perKey: { concurrency: 2, rate: { limit: 5, per: 1_000 } },
});
const follow = (url: URL) => hosts.has(url.host);
for await (const { status, url } of crawl(starts, { limiter, follow, signal: stopping.signal })) {
  console.log(status, url);
}
