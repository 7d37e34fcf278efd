/**
 * Writes the Lua scripts into a module, so that bundlers include them. The build and vitest run this.
 *
 * Invariant: the module equals the files. It is written only if it has changed.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('src/redis/lua/', import.meta.url));
const module = `${folder}scripts.ts`;
/** Without comments and indentation; the lines keep their numbers, which the server's errors tell. */
const read = (name) => readFileSync(folder + name, 'utf8').replace(/^ *(--.*)?/gm, '');

const parts = readdirSync(folder).filter((name) => /^\d.*\.lua$/.test(name));
const scripts = {
  batch: parts.sort().map(read).join('\n'),
  fencedSet: read('fenced-set.lua'),
};
const lines = Object.entries(scripts).map(
  ([name, text]) => `export const ${name}: string = ${JSON.stringify(text)};\n`,
);
const text = `/** Made by scripts.js from the files beside it. */\n\n${lines.join('')}`;
if (!existsSync(module) || readFileSync(module, 'utf8') !== text) writeFileSync(module, text);
