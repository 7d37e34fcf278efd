/**
 * Bundles each subject for the page and for its worker, once, before the first round, from the modules that the cells
 * in Node use and without minifying. A subject's bundle contains no other subject.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { moduleOf } from '../subjects/index.js';

const compiledTable = fileURLToPath(new URL('../', import.meta.url));
const bundles = fileURLToPath(new URL('../../../../out/workers/bridge/', import.meta.url));

/** A subject that cannot be bundled fails when its cell runs; the others are unaffected. */
export async function bundlePage(name: string): Promise<void> {
  const folder = bundleFolder(name);
  mkdirSync(folder, { recursive: true });
  try {
    await bundle(name, folder);
  } catch (error) {
    const { errors: [first] = [] } = error as { errors?: { text: string }[] };
    const words = JSON.stringify(`could not be bundled: ${first?.text ?? error}`);
    writeFileSync(join(folder, 'page.js'), `throw new Error(${words});`);
  }
}

async function bundle(name: string, folder: string): Promise<void> {
  // Imported here, because the processes of the cells do not need it.
  const { build } = await import('esbuild');
  const program = (main: string) => ({
    contents: `
      import exported from './${moduleOf(name)}.js';
      import { ${main === 'page' ? 'runPage' : 'runWorker'} as run } from './page/${main}.js';
      run([exported].flat().find(({ name }) => name === ${JSON.stringify(name)}));`,
    resolveDir: compiledTable,
  });
  for (const main of ['page', 'worker']) {
    await build({
      stdin: program(main),
      outfile: join(folder, `${main}.js`),
      bundle: true,
      format: 'esm',
      target: 'es2022',
      platform: 'browser',
      external: ['node:*'],
      logLevel: 'silent',
    });
  }
}

/** The folder of a subject's bundles. */
export function bundledPage(name: string): string {
  const folder = bundleFolder(name);
  if (!existsSync(join(folder, 'page.js'))) {
    throw new Error(`the page of ${name}: expected it bundled by the table's prepare`);
  }
  return folder;
}

function bundleFolder(name: string): string {
  return join(bundles, name.replaceAll(/\W+/g, '-'));
}
