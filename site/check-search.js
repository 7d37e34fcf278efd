/**
 * Searches the built site for what people type, and checks which page comes first.
 *
 * Invariant: it loads the index that the site serves, with the options of the site's configuration. VitePress's search
 * box calls the same library in the same way.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import MiniSearch from 'minisearch';
import config from './.vitepress/config.js';

/** What a reader types, and the page that answers it. */
const expected = {
  'rate limit': 'docs/sync/rate-limiting',
  throttle: 'docs/sync/rate-limiting',
  debounce: 'docs/sync/rate-limiting',
  429: 'docs/sync/rate-limiting',
  'too many requests': 'docs/sync/rate-limiting',
  'token bucket': 'docs/sync/rate-limiting',
  'queue concurrency': 'docs/sync/concurrency-limits',
  'limit parallel requests': 'docs/sync/concurrency-limits',
  'task queue': 'docs/sync/concurrency-limits',
  semaphore: 'docs/sync/concurrency-limits',
  mutex: 'docs/sync/locks',
  channel: 'docs/sync/channels',
  'back-pressure': 'docs/sync/channels',
  worker: 'docs/pool',
  'worker thread': 'docs/pool',
  'thread pool': 'docs/pool',
  'rate limit across processes': 'docs/shared/rate-limiting',
  'distributed rate limit': 'docs/shared/rate-limiting',
  'pm2 rate limit': 'docs/shared/rate-limiting',
  'rate-limiter-flexible': 'docs/shared/rate-limiting',
  'tokens of a language model': 'docs/shared/rate-limiting',
  'distributed lock': 'docs/shared/locks',
  'lock across processes': 'docs/shared/locks',
  'distributed mutex': 'docs/shared/locks',
  'distributed semaphore': 'docs/shared/locks',
  'read write lock redis': 'docs/shared/locks',
  'fencing token': 'docs/shared/locks',
  'rate limit express': 'docs/how-to/web-server',
  'x-forwarded-for': 'docs/how-to/web-server',
  'trust proxy': 'docs/how-to/web-server',
  'no server': 'docs/host',
  'file lock': 'docs/host',
  'proper-lockfile': 'docs/host',
  'leader election': 'docs/shared/leader',
  'redis lock': 'docs/redis',
  acl: 'docs/redis',
  'redis cluster': 'docs/redis',
  bridge: 'docs/bridge',
  'blocking calls': 'docs/bridge',
  deadlock: 'docs/diagnostics',
  'stuck task': 'docs/runtime-diagnostics',
  'slow poll': 'docs/runtime-diagnostics',
  'tokio deadlock': 'docs/runtime-diagnostics',
  'tokio-console': 'docs/runtime-diagnostics',
  install: 'docs/install',
  'esnext.disposable': 'docs/install',
  'getting started': 'docs/install',
  crawler: 'docs/how-to/crawler',
  'web crawler': 'docs/how-to/crawler',
  'web scraper': 'docs/how-to/crawler',
  'follow links': 'docs/how-to/crawler',
  retry: 'docs/how-to/retry',
  backoff: 'docs/how-to/retry',
  'graceful shutdown': 'docs/how-to/graceful-shutdown',
  sigterm: 'docs/how-to/graceful-shutdown',
  'fake timers': 'docs/how-to/testing',
  vitest: 'docs/how-to/testing',
  jest: 'docs/how-to/testing',
  'deterministic tests': 'docs/how-to/deterministic-tests',
  'replay a failing test': 'docs/how-to/deterministic-tests',
  tsx: 'docs/how-to/typescript-workers',
  lambda: 'docs/how-to/serverless',
  vite: 'docs/how-to/bundlers',
  eslint: 'docs/how-to/eslint',
  'p-queue': 'docs/migrate/p-queue',
  bottleneck: 'docs/migrate/bottleneck',
  'async-mutex': 'docs/migrate/async-mutex',
  comlink: 'docs/migrate/comlink',
  synckit: 'docs/migrate/synckit',
  piscina: 'docs/migrate/piscina',
  redlock: 'docs/migrate/redlock',
};

const chunks = join(import.meta.dirname, 'dist/assets/chunks');
const index = readdirSync(chunks).find((name) => name.startsWith('@localSearchIndex'));
if (index === undefined) throw new Error(`there is no search index in ${chunks}: run make docs`);

const { default: json } = await import(join(chunks, index));
const search = MiniSearch.loadJSON(json, {
  fields: ['title', 'titles', 'text'],
  storeFields: ['title', 'titles'],
  searchOptions: config.themeConfig.search.options.miniSearch.searchOptions,
});

/** Returns the pages of the results, each once, in the order of the search box. */
function pagesFor(words) {
  const base = process.env.BASE ?? '/';
  return [
    ...new Set(search.search(words).map(({ id }) => id.slice(base.length).split(/#|\.html/)[0])),
  ];
}

for (const [words, page] of Object.entries(expected)) {
  const found = pagesFor(words);
  if (found[0] === page) continue;
  console.error(`${words}: ${found.slice(0, 3).join(', ')} come before ${page}`);
  process.exitCode = 1;
}
console.log(
  process.exitCode === 1
    ? 'The search does not find the right page first.'
    : `${Object.keys(expected).length} searches find the right page first.`,
);
