/** The page for an address that does not exist: a search, and links to the main guides. */
import { withBase } from 'vitepress';
import { h } from 'vue';

const guides = {
  'Get started': '/docs/install',
  'Rate limiting': '/docs/sync/rate-limiting',
  'Concurrency limits': '/docs/sync/concurrency-limits',
  Locks: '/docs/sync/locks',
  Channels: '/docs/sync/channels',
  'Worker pool': '/docs/pool',
  'Blocking calls between threads': '/docs/bridge',
  'Distributed locks': '/docs/redis',
  'The runtime for Rust': '/docs/runtime',
  API: '/api/index',
};

/** The theme has no function that opens its search, only this shortcut. */
const search = () =>
  window.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true }));

export const NotFound = () =>
  h('div', { class: 'not-found vp-doc' }, [
    h('h1', 'Page not found'),
    h('p', 'This address has no page. Search the site, or continue with a guide.'),
    h('button', { type: 'button', onClick: search }, 'Search the site'),
    h(
      'ul',
      Object.entries(guides).map(([text, link]) =>
        h('li', h('a', { href: withBase(`${link}.html`) }, text)),
      ),
    ),
  ]);
