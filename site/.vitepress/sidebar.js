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

const groups = {
  Start: [
    page('Introduction', 'README.md'),
    page('Examples', 'examples/README.md'),
    page('The npm package', 'packages/pointsman/README.md'),
    page('The crate', 'crates/pointsman/README.md'),
  ],
  'One event loop': [
    page('Overview', 'docs/sync.md'),
    page('Concurrency limits', 'docs/sync/concurrency-limits.md'),
    page('Rate limiting', 'docs/sync/rate-limiting.md'),
    page('Locks', 'docs/sync/locks.md'),
    page('Channels', 'docs/sync/channels.md'),
    page('Events', 'docs/sync/events.md'),
    page('Find deadlocks', 'docs/diagnostics.md'),
    page('Migrate from another library', 'docs/migrate.md'),
    api('pointsman'),
    api('pointsman/diagnostics'),
  ],
  Pool: [page('Worker pool', 'docs/pool.md'), api('pointsman/pool')],
  Bridge: [
    page('Calls from a worker into its host', 'docs/bridge.md'),
    page('The bridge protocol', 'docs/bridge-protocol.md'),
    api('pointsman/bridge'),
  ],
  Redis: [
    page('Distributed locks', 'docs/redis.md'),
    page('The lock protocol', 'docs/lock-protocol.md'),
    page('The mutex under faults', 'docs/lock-faults.md'),
    api('pointsman/redis'),
  ],
  'Rust runtime': [page('The runtime', 'docs/runtime.md'), crate],
  Lab: [page('Results', 'docs/results.md'), page('How it measures', 'lab/README.md'), report],
  Project: [
    page('Architecture', 'ARCHITECTURE.md'),
    page('What each primitive must do', 'spec/README.md'),
    page('Contributing', 'CONTRIBUTING.md'),
    page('Changelog', 'CHANGELOG.md'),
    page('Support', 'docs/support.md'),
    page('Deprecation', 'docs/deprecation.md'),
    page('Security', 'SECURITY.md'),
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

const modules = JSON.parse(readFileSync(join(root, 'site/api/typedoc-sidebar.json'), 'utf8'));

/** Pages of the API show all its names, other pages the groups. */
export const sidebar = {
  '/api/': [{ text: 'Guides', link: address('README.md') }, ...modules],
  '/': guides,
};

/** Throws if a page is in no group, and so cannot be found. */
export function everyPageIsNamed({ pages }) {
  const lost = pages.filter((page) => !page.startsWith('site/') && !named.has(page));
  if (lost.length > 0) {
    throw new Error(`In no group of site/.vitepress/sidebar.js: ${lost.join(', ')}`);
  }
}
