/**
 * The documentation site: the Markdown files of the repository, unchanged.
 *
 * Invariant: the address of a page is its file's path in the repository, except README.md, which is the front page, and
 * generated pages. Nothing is loaded from another host.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { slug } from 'github-slugger';
import { defineConfig } from 'vitepress';
import { linkRepository, publicAddress } from './links.js';
import { crate, everyPageIsNamed, report, root, sidebar } from './sidebar.js';

export default defineConfig({
  title: 'Pointsman',
  description: 'Coordination for concurrent work, in TypeScript and in Rust',
  base: process.env.BASE ?? '/',
  srcDir: '..',
  outDir: 'dist',
  srcExclude: [
    '!(*.md|docs|lab|spec|crates|examples|packages|site)/**',
    '{lab,spec,examples}/*/**',
    'crates/!(pointsman)/**',
    '{crates,packages}/pointsman/*/**',
    'site/!(api|missing)/**',
    ...(existsSync(join(root, 'lab/out/report/index.html')) ? ['site/missing/lab.md'] : []),
    ...(existsSync(join(root, 'target/docs/doc')) ? ['site/missing/rust.md'] : []),
  ],
  rewrites: {
    'README.md': 'index.md',
    'site/api/:path*': 'api/:path*',
    // Placeholders for pages that were not built.
    'site/missing/lab.md': 'lab/report/index.md',
    'site/missing/rust.md': 'rust/pointsman/index.md',
  },
  buildEnd: everyPageIsNamed,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    // Like the code host: the same anchors, and no attribute syntax, which the host would show as text.
    anchor: { slugify: slug },
    attrs: { disable: true },
    config: (md) => {
      linkRepository(md);
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
    nav: [
      { text: 'Guides', link: '/', activeMatch: '^/(?!api/)' },
      { text: 'API', link: '/api/', activeMatch: '^/api/' },
      { ...crate, text: 'Crate' },
      { ...report, text: 'Lab' },
    ],
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
                /\/docs\/(migrate|[a-z]+-[a-z]+\.)|\/(examples|packages|crates)\//.test(id);
              if (isAside) return 0.5 * page;
              return /\/docs\/|\/#/.test(id) ? page : 0.15;
            },
          },
        },
      },
    },
    ...(publicAddress && { socialLinks: [{ icon: 'github', link: publicAddress }] }),
  },
});
