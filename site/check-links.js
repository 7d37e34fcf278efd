/**
 * Checks the links of the built site: to pages, anchors, scripts, styles and pictures.
 *
 * Invariant: it uses no network and does not follow links to other hosts. Pages of `cargo doc` are only targets, since
 * rustdoc checks its own links.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const site = join(import.meta.dirname, 'dist');
const base = process.env.BASE ?? '/';

const decode = (text) => text.replaceAll('&quot;', '"').replaceAll('&amp;', '&');
const valuesOf = (html, attributes) =>
  [...html.matchAll(new RegExp(`<[a-z][^>]*?\\s(?:${attributes})="([^"]*)"`, 'g'))].map((match) =>
    decode(match[1]),
  );

const anchors = new Map();
function anchorsOf(file) {
  if (!anchors.has(file)) {
    anchors.set(file, new Set(valuesOf(readFileSync(file, 'utf8'), 'id|name')));
  }
  return anchors.get(file);
}

/** Returns the mistake in a link, or undefined. */
function mistake(link, page) {
  const host = 'http://site.invalid';
  const url = new URL(link, `${host}${base}${page}`);
  if (url.origin !== host) return undefined;
  if (!url.pathname.startsWith(base)) return `is outside ${base}`;
  let file = join(site, decodeURIComponent(url.pathname.slice(base.length)));
  if (existsSync(file) && statSync(file).isDirectory()) file = join(file, 'index.html');
  if (!existsSync(file)) return 'has no target';
  const anchor = decodeURIComponent(url.hash.slice(1));
  if (anchor !== '' && file.endsWith('.html') && !anchorsOf(file).has(anchor)) {
    return 'has an anchor that is missing in the page';
  }
  return undefined;
}

const pages = readdirSync(site, { recursive: true }).filter(
  (name) => name.endsWith('.html') && !name.startsWith('rust/'),
);
let links = 0;
for (const page of pages) {
  for (const link of new Set(valuesOf(readFileSync(join(site, page), 'utf8'), 'href|src'))) {
    links += 1;
    const wrong = mistake(link, page);
    if (wrong === undefined) continue;
    console.error(`${page}: ${link} ${wrong}`);
    process.exitCode = 1;
  }
}
console.log(
  process.exitCode === 1
    ? 'The site has broken links.'
    : `All ${links} links of ${pages.length} pages have targets.`,
);
