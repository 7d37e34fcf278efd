/**
 * `node lab/dist/lab.js`: the lab on its own tables. `make lab` calls it.
 */
import { fileURLToPath } from 'node:url';
import { runMain } from 'citty';
import { labCommand } from './harness/command.js';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

await runMain(labCommand({ tables: here('./tables'), out: here('../out') }));
