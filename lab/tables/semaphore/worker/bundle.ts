/**
 * Bundles each subject into a worker, once, before the first round, from the modules that the cells in Node use and
 * without minifying. A subject's worker contains no other subject.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { subjectNamed } from '../subjects/index.js';

export type WorkerKind = 'document' | 'shared';

const compiledTable = fileURLToPath(new URL('../', import.meta.url));
const workers = fileURLToPath(new URL('../../../../out/workers/semaphore/', import.meta.url));

export async function bundleWorker(kind: WorkerKind, name: string): Promise<void> {
  // Imported here, because the processes of the cells do not need it.
  const { build } = await import('esbuild');
  const folder = subjectNamed(name).role === 'floor' ? 'floors' : 'subjects';
  await build({
    stdin: {
      contents: `
        import subject from './${folder}/${fileName(name)}.js';
        import { ${kind}Worker } from './worker/${kind}.js';
        export default ${kind}Worker(subject.permits, await subject.load());`,
      resolveDir: compiledTable,
    },
    outfile: workerPath(kind, name),
    bundle: true,
    format: 'esm',
    target: 'es2022',
    // Like wrangler: packages' browser exports, with Node's own modules left to the runtime.
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['node:*'],
    logLevel: 'silent',
  });
}

/** The path of the bundled worker. */
export function bundledWorker(kind: WorkerKind, name: string): string {
  const path = workerPath(kind, name);
  if (!existsSync(path)) {
    throw new Error(`the ${kind} worker of ${name}: expected it bundled by the table's prepare`);
  }
  return path;
}

function workerPath(kind: WorkerKind, name: string): string {
  return `${workers}${kind}/${fileName(name)}.js`;
}

/** The subject's name without characters that a file name should not have. */
function fileName(subject: string): string {
  return subject.replace('@', '').replaceAll(/[/ ]/g, '-');
}
