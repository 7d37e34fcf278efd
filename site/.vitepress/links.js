/**
 * Links of the Markdown files as the code host shows them: to other pages, and to files and folders of the
 * repository.
 *
 * Invariant: a link to a page of the site stays on the site; one to another file leads to the public address of the
 * repository, or is plain text while there is none. A link to what does not exist is left for VitePress to refuse.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { address, isPage, root } from './sidebar.js';

const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** The place of the repository on the web, from the field that npm reads; undefined while there is none. */
export const publicAddress = (repository?.url ?? repository)
  ?.replace(/^git\+/, '')
  .replace(/\.git$/, '');

/** Where a link of the file `from` leads on the site; undefined if nowhere. */
function resolve(href, from) {
  if (/^([a-z]+:|#|\/)/.test(href)) return href;
  const [, path, anchor] = /^([^#]*)(.*)$/.exec(href);
  const file = join(dirname(from), decodeURI(path));
  const name = relative(root, file);
  const page = [name, join(name, 'README.md')].find(isPage);
  if (page !== undefined) return address(page) + anchor;
  if (!existsSync(file) || name.startsWith('site/')) return href;
  if (publicAddress === undefined) return undefined;
  return `${publicAddress}/${statSync(file).isDirectory() ? 'tree' : 'blob'}/HEAD/${name}${anchor}`;
}

export function linkRepository(md) {
  md.core.ruler.push('repository-links', ({ tokens, env }) => {
    // The index of the search has the one, pages have both.
    const from = env.realPath ?? env.path;
    for (const { children } of tokens) {
      let hidden = false;
      for (const token of children ?? []) {
        if (token.type === 'link_open') {
          const target = resolve(token.attrGet('href'), from);
          hidden = target === undefined;
          if (!hidden) token.attrSet('href', target);
        }
        if (hidden && (token.type === 'link_open' || token.type === 'link_close')) {
          hidden = token.type === 'link_open';
          Object.assign(token, { type: 'text', tag: '', nesting: 0, content: '', attrs: null });
        }
      }
    }
  });
}
