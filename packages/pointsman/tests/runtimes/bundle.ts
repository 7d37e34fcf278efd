/**
 * Bundles the tests for runtimes without vitest and without a disk: the same files that vitest runs in Node. A file
 * for some runtimes has them in its name: `*.node.test.ts` runs in Node only, `*.workerd.test.ts` in workerd only,
 * `*.console.test.ts` in Node and runtimes with its modules. `*.thread.test.ts` needs threads and runs everywhere but
 * in workerd.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { scenarioFiles } from '@pointsman/spec/scenarios';
import { build, type Plugin } from 'esbuild';

const here = fileURLToPath(new URL('..', import.meta.url));
const packageFolder = join(here, '../..');

/** The entry of a runtime: the name of a file in `inside/`. */
export type Entry = 'console' | 'worker' | 'page';

/** Writes the bundle and its source map. The files are named relative to the package. */
export async function bundleTests(
  entry: Entry,
  outfile: string,
  files: readonly string[] = testFiles(entry),
): Promise<void> {
  await build({
    entryPoints: [join(here, 'inside', `${entry}.ts`)],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    sourcemap: 'external',
    alias: { vitest: join(here, 'inside/vitest.ts') },
    external: entry === 'console' ? ['node:*'] : [],
    plugins: [
      counterparts(entry),
      virtualModule('pointsman-test-files', () => testFilesModule(files)),
      virtualModule('@pointsman/spec/scenarios', scenariosModule),
      // The fake clock imports these if a process exists, and works without them.
      virtualModule('(util|timers|timers/promises|perf_hooks)', () => ''),
    ],
    logLevel: 'error',
  });
}

/** Writes the script of the threads that tests of the bridge or the pool start. */
export async function bundleThread(
  runtime: 'node' | 'web',
  outfile: string,
  subject: 'bridge' | 'pool' = 'bridge',
): Promise<void> {
  const source = join(packageFolder, 'src');
  await build({
    entryPoints: [join(packageFolder, 'tests', subject, 'thread.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    sourcemap: 'inline',
    external: ['node:*'],
    // Imports for side effects stay, even where package.json declares none.
    ignoreAnnotations: true,
    alias: {
      'pointsman/bridge': join(source, `bridge/index${runtime === 'node' ? '.node' : ''}.ts`),
      'pointsman/pool': join(source, `pool/index${runtime === 'node' ? '.node' : ''}.ts`),
    },
    plugins: runtime === 'web' ? [counterparts('page')] : [],
    logLevel: 'error',
  });
}

/** In the tests' own folders a module for Node may have a counterpart for pages or for a console. */
function counterparts(entry: Entry): Plugin {
  const ending = entry === 'console' ? '.console.ts' : '.web.ts';
  return {
    name: 'counterparts',
    setup({ onResolve }) {
      onResolve({ filter: /^\.{1,2}\/(\w+\/)?\w+\.node\.js$/ }, ({ path, resolveDir }) => {
        if (!resolveDir.startsWith(join(packageFolder, 'tests'))) return undefined;
        const counterpart = join(resolveDir, path.replace(/\.node\.js$/, ending));
        return existsSync(counterpart) ? { path: counterpart } : undefined;
      });
    },
  };
}

const foreign: Record<Entry, RegExp> = {
  page: /\.(node|workerd|console)\./,
  console: /\.(node|workerd)\./,
  worker: /\.(node|thread|console)\./,
};

function testFiles(entry: Entry): string[] {
  const sources = readdirSync(join(packageFolder, 'src'), { recursive: true, encoding: 'utf8' });
  const paths = [
    ...sources.map((path) => `src/${path.split(sep).join('/')}`),
    ...readdirSync(join(packageFolder, 'tests')).map((name) => `tests/${name}`),
  ];
  const files = paths
    .filter((path) => path.endsWith('.test.ts') && !foreign[entry].test(path))
    .sort();
  // Tests of one runtime come first: they observe its requests and timers, which the other tests would disturb.
  const isOwn = (path: string) => path.includes('.workerd.');
  return [...files.filter(isOwn), ...files.filter((path) => !isOwn(path))];
}

function testFilesModule(files: readonly string[]): string {
  const entries = files.map((path) => `'/packages/pointsman/${path}': () => import('./${path}'),`);
  return `export const testFiles = {\n${entries.join('\n')}\n};`;
}

function scenariosModule(): string {
  return `export const scenarioFiles = ${JSON.stringify(scenarioFiles)};`;
}

/** Modules generated here. Their imports are relative to the package. */
function virtualModule(pattern: string, contents: () => string): Plugin {
  return {
    name: pattern,
    setup({ onResolve, onLoad }) {
      const filter = new RegExp(`^${pattern}$`);
      onResolve({ filter }, ({ path }) => ({ path, namespace: pattern }));
      onLoad({ filter: /.*/, namespace: pattern }, () => ({
        contents: contents(),
        resolveDir: packageFolder,
      }));
    },
  };
}
