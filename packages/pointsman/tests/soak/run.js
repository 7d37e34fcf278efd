/** Bundles the soak and its worker, and runs it on the built package: `node --expose-gc run.js`. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));
// From this folder the package resolves by its name.
mkdirSync(join(here, 'dist'), { recursive: true });
const folder = mkdtempSync(join(here, 'dist/'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

await build({
  entryPoints: ['main', 'worker'].map((name) => join(here, `${name}.ts`)),
  outdir: folder,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  format: 'esm',
  platform: 'node',
  packages: 'external',
  target: 'node20',
  sourcemap: 'inline',
});
await import(pathToFileURL(join(folder, 'main.mjs')).href);
