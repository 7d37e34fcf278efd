/**
 * The pages of the site, in the order in which a reader needs them.
 *
 * Invariant: each page is a file of the repository; a missing file has no entry.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '../..');

/** A link to a page outside VitePress, which the router leaves to the browser. */
const apart = (text, link) => ({ text, link, target: '_self' });
export const crate = apart('API of the crate', '/rust/pointsman/index.html');
/** The full report, if the lab has run here. */
export const report = existsSync(join(root, 'lab/out/report/index.html'))
  ? apart('The full report', '/lab/report/index.html')
  : undefined;

const page = (text, file) => ({ text, file });
const api = (entry) => ({ text: `<code>${entry}</code>`, link: `/api/${entry}/index` });

// By need: a reader looks for a task first, and for the project last.
const groups = {
  Start: [
    page('Introduction', 'README.md'),
    page('Install', 'docs/install.md'),
    page('Overview: which class to use', 'docs/sync.md'),
    page('Examples', 'examples/README.md'),
    page('The npm package', 'packages/pointsman/README.md'),
  ],
  Guides: [
    page('Rate limiting', 'docs/sync/rate-limiting.md'),
    page('Concurrency limits', 'docs/sync/concurrency-limits.md'),
    page('Locks', 'docs/sync/locks.md'),
    page('Channels', 'docs/sync/channels.md'),
    page('Events', 'docs/sync/events.md'),
    page('Worker pool', 'docs/pool.md'),
    page('Blocking calls between threads', 'docs/bridge.md'),
    page('Rate limiting across processes', 'docs/shared/rate-limiting.md'),
    page('Locks across processes', 'docs/shared/locks.md'),
    page('Leader election', 'docs/shared/leader.md'),
    page('Redis and Valkey', 'docs/redis.md'),
    page('One host, no server', 'docs/host.md'),
    page('Find deadlocks', 'docs/diagnostics.md'),
  ],
  'How-to': [
    page('A rate-limited crawler', 'docs/how-to/crawler.md'),
    page('Rate limit a web server', 'docs/how-to/web-server.md'),
    page('Retry failed calls', 'docs/how-to/retry.md'),
    page('Choosing limits', 'docs/how-to/choosing-limits.md'),
    page('Graceful shutdown', 'docs/how-to/graceful-shutdown.md'),
    page('Testing and fake timers', 'docs/how-to/testing.md'),
    page('TypeScript workers', 'docs/how-to/typescript-workers.md'),
    page('Bundlers', 'docs/how-to/bundlers.md'),
    page('Serverless', 'docs/how-to/serverless.md'),
    page('ESLint', 'docs/how-to/eslint.md'),
  ],
  Migrate: [
    page('From another library', 'docs/migrate.md'),
    page('From p-queue', 'docs/migrate/p-queue.md'),
    page('From bottleneck', 'docs/migrate/bottleneck.md'),
    page('From async-mutex', 'docs/migrate/async-mutex.md'),
    page('From piscina', 'docs/migrate/piscina.md'),
    page('From comlink', 'docs/migrate/comlink.md'),
    page('From redlock', 'docs/migrate/redlock.md'),
    page('From synckit', 'docs/migrate/synckit.md'),
  ],
  API: [
    api('pointsman'),
    api('pointsman/pool'),
    api('pointsman/bridge'),
    api('pointsman/shared'),
    api('pointsman/redis'),
    api('pointsman/host'),
    api('pointsman/host'),
    api('pointsman/http'),
    api('pointsman/diagnostics'),
  ],
  Rust: [
    page('The runtime', 'docs/runtime.md'),
    page('Find stuck tasks', 'docs/runtime-diagnostics.md'),
    page('Deterministic tests', 'docs/how-to/deterministic-tests.md'),
    page('The crate', 'crates/pointsman/README.md'),
    crate,
  ],
  Lab: [page('Results', 'docs/results.md'), page('How it measures', 'lab/README.md'), report],
  Project: [
    page('Support', 'docs/support.md'),
    page('Deprecation', 'docs/deprecation.md'),
    page('Changelog', 'CHANGELOG.md'),
    page('Security', 'SECURITY.md'),
    page('Contributing', 'CONTRIBUTING.md'),
    page('Architecture', 'ARCHITECTURE.md'),
    page('What each primitive must do', 'spec/README.md'),
    page('The bridge protocol', 'docs/bridge-protocol.md'),
    page('The lock protocol', 'docs/lock-protocol.md'),
    page('The dump protocol', 'docs/dump-protocol.md'),
    page('The shared primitives under faults', 'docs/lock-faults.md'),
  ],
};

/** Returns the address of a file's page. */
export const address = (file) => `/${file.slice(0, -'.md'.length)}`;

const named = new Set(
  Object.values(groups)
    .flat()
    .map((item) => item?.file),
);
export const isPage = (file) => named.has(file) && existsSync(join(root, file));

const guides = Object.entries(groups).map(([text, items]) => ({
  text,
  items: items
    .filter((item) => item && (!item.file || isPage(item.file)))
    .map(({ file, ...item }) => (file ? { ...item, link: address(file) } : item)),
}));

const modules = JSON.parse(readFileSync(join(root, 'site/api/typedoc-sidebar.json'), 'utf8')).map(
  (module) => ({ ...module, collapsed: false }),
);

/** Pages of the API show all its names, other pages the groups. */
export const sidebar = {
  '/api/': [{ text: 'Guides', link: address('docs/sync.md') }, ...modules],
  '/': guides,
};

/** Throws if a page is in no group, and so cannot be found. */
export function everyPageIsNamed({ pages }) {
  const lost = pages.filter((page) => !page.startsWith('site/') && !named.has(page));
  if (lost.length > 0) {
    throw new Error(`In no group of site/.vitepress/sidebar.js: ${lost.join(', ')}`);
  }
}
