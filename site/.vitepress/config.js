/**
 * The documentation site: the Markdown files of the repository, unchanged.
 *
 * Invariant: the address of a page is its file's path in the repository, except the pages of this folder and generated
 * pages. Nothing is loaded from another host.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { slug } from 'github-slugger';
import { defineConfig } from 'vitepress';
import { linkRepository, publicAddress } from './links.js';
import { address, crate, everyPageIsNamed, report, root, sidebar } from './sidebar.js';
import { socialTags } from './social.js';
import { labelCells } from './tables.js';

const base = process.env.BASE ?? '/';
const licence = publicAddress
  ? `<a href="${publicAddress}/blob/HEAD/LICENSE">MIT licence</a>. <a href="${publicAddress}">Repository</a>.`
  : 'MIT licence.';

export default defineConfig({
  title: 'Pointsman',
  description:
    'Rate limiter, semaphore, mutex, channels, worker pool and distributed locks for TypeScript, and a Tokio-compatible async runtime for Rust',
  base,
  srcDir: '..',
  outDir: 'dist',
  srcExclude: [
    '!(*.md|docs|lab|spec|crates|examples|packages|site)/**',
    '{lab,spec,examples}/*/**',
    'crates/!(pointsman)/**',
    '{crates,packages}/pointsman/*/**',
    'site/!(api|pages)/**',
    ...(existsSync(join(root, 'target/docs/doc')) ? ['site/pages/rust.md'] : []),
  ],
  rewrites: {
    'site/pages/home.md': 'index.md',
    'site/api/:path*': 'api/:path*',
    // Shown if the site is built without Rust.
    'site/pages/rust.md': 'rust/pointsman/index.md',
  },
  buildEnd: everyPageIsNamed,
  head: [['link', { rel: 'icon', href: `${base}logo.svg`, type: 'image/svg+xml' }]],
  transformHead: socialTags,
  markdown: {
    // Comments have a contrast of 4.5 on the ground of code.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-default' },
    // Like the code host: the same anchors, and no attribute syntax, which the host would show as text.
    anchor: { slugify: slug },
    attrs: { disable: true },
    config: (md) => {
      linkRepository(md);
      labelCells(md);
      // A picture in its own paragraph can be scrolled.
      md.core.ruler.push('pictures', ({ tokens }) => {
        for (const token of tokens) {
          if (token.type !== 'html_block' || !token.content.startsWith('<img ')) continue;
          token.content = `<p>${token.content}</p>`;
        }
      });
    },
  },
  vite: {
    publicDir: join(root, 'site/public'),
    // The picture in README.md.
    resolve: { alias: [{ find: /^docs\//, replacement: `${root}/docs/` }] },
    plugins: [
      {
        // The pages are outside this folder and cannot resolve Vue; the built pages are inside and can.
        name: 'vue-of-this-folder',
        enforce: 'pre',
        resolveId: (id, _from, { ssr }) =>
          ssr && /^vue(\/|$)/.test(id) ? { id, external: true } : undefined,
      },
    ],
    build: { chunkSizeWarningLimit: 2_000 },
  },
  themeConfig: {
    logo: { light: '/logo.svg', dark: '/logo-dark.svg', alt: '' },
    nav: [
      {
        text: 'Guides',
        link: address('docs/sync.md'),
        activeMatch: '^/(?!api/|docs/results|404|$)',
      },
      { text: 'API', link: '/api/', activeMatch: '^/api/' },
      { ...crate, text: 'Crate' },
      { text: 'Results', link: address('docs/results.md') },
    ],
    // The page of the results links to the report that was measured here.
    report,
    sidebar,
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          // Ranks guides before pages about the project, and the page of a subject before sections of other pages. The
          // API repeats every word: only the page of a typed name ranks with the guides. Browsers run this function
          // from its source, so it must not use outer variables. check-search.js checks the order.
          searchOptions: {
            fuzzy: 0.2,
            prefix: (term) => term.length > 1,
            boost: { title: 4, text: 2, titles: 2 },
            boostDocument: (id, term, { titles = [] } = {}) => {
              const page = titles.length === 0 ? 1.5 : 1;
              if (id.includes('/api/')) return id.endsWith(`-${term}`) ? 0.6 : 0.2;
              const isAside =
                /\/docs\/(migrate|[a-z]+-[a-z]+\.)|\/(examples|packages|crates)\//.test(id) ||
                // The README of the project, which the guides repeat.
                /(?<!\/(lab|spec))\/README\./.test(id);
              if (isAside) return 0.5 * page;
              return id.includes('/docs/') ? page : 0.15;
            },
          },
        },
      },
    },
    footer: { message: licence },
    ...(publicAddress && { socialLinks: [{ icon: 'github', link: publicAddress }] }),
  },
});
