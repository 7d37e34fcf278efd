/**
 * Resolves the links of the Markdown files, which are written for the code host: to other pages, and to files and
 * folders of the repository.
 *
 * Invariant: a link to a page of the site stays on the site; a link to another file leads to the public address of the
 * repository, or becomes plain text without one. VitePress refuses a link to a missing file.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { address, isPage, root } from './sidebar.js';

const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** The public address of the repository, from npm's field, if any. */
export const publicAddress = (repository?.url ?? repository)
  ?.replace(/^git\+/, '')
  .replace(/\.git$/, '');

/** Returns the target on the site of a link in the file `from`, or undefined. */
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
    // Pages have both; the index of the search has only `path`.
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
