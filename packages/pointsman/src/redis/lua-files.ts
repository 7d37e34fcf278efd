/**
 * The Lua scripts. They are published as they stand in the source, beside what is built from it, and
 * read when they are first needed.
 */

import { readFileSync } from 'node:fs';

export const luaFile = (name: string): string =>
  readFileSync(new URL(`../../src/redis/lua/${name}.lua`, import.meta.url), 'utf8');
