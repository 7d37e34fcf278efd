/**
 * The documentation site: the Markdown files of the repository as they are.
 *
 * Invariant: the address of a page is its file's path in the repository, but for README.md, which is the front page,
 * and for what is made here. Nothing is loaded from another host.
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
    // These stand where what they speak of would be.
    'site/missing/lab.md': 'lab/report/index.md',
    'site/missing/rust.md': 'rust/pointsman/index.md',
  },
  buildEnd: everyPageIsNamed,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    // As the code host: its anchors, and nothing that it would show as text.
    anchor: { slugify: slug },
    attrs: { disable: true },
    config: (md) => {
      linkRepository(md);
      // In a paragraph of its own a picture can be scrolled.
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
        // Pages are outside this folder, from where Vue is not found; what is built of them is inside.
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
          // Guides come first, then what is about the project. The API has every word in many places: only the page of
          // a name that was typed stands among the guides. Browsers run this as it stands here.
          searchOptions: {
            boostDocument: (id, term) => {
              if (id.includes('/api/')) return id.endsWith(`-${term}`) ? 0.8 : 0.2;
              return /\/(docs|examples|packages|crates)\/|\/#/.test(id) ? 1 : 0.15;
            },
          },
        },
      },
    },
    ...(publicAddress && { socialLinks: [{ icon: 'github', link: publicAddress }] }),
  },
});
