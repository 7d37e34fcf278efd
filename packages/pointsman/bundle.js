/**
 * What Node loads of the bridge and the pool, in few files: three for a pool and three for each of its threads, where
 * the compiler makes forty. The first task is done in little more than half the time. Browsers load what the
 * compiler has made: whoever writes for them bundles it anyway.
 *
 * Invariant: nothing is there twice. What several entries need lies in one file that all of them import,
 * and `dist/sync`, an entry of its own, stays outside. A script of a thread lies beside the file that starts it.
 */
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const folder = fileURLToPath(new URL('.', import.meta.url));
const source = `${folder}src`;

await build({
  input: {
    bridge: `${source}/bridge/index.node.ts`,
    pool: `${source}/pool/index.node.ts`,
    inline: `${source}/pool/inline.ts`,
    diagnostics: `${source}/diagnostics/index.node.ts`,
    'entry.node': `${source}/pool/entry.node.ts`,
    // For bundlers of whoever uses it: they look for each script that is named.
    entry: `${source}/pool/entry.ts`,
  },
  platform: 'node',
  tsconfig: `${folder}tsconfig.json`,
  resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  transform: { target: 'es2022' },
  // Other packages, and the folder `sync`.
  external: [/^[^./]/, /^\.\.?\/(.*\/)?sync\//],
  output: {
    dir: `${folder}dist/node`,
    cleanDir: true,
    chunkFileNames: '[name].js',
    codeSplitting: { groups: [{ name: 'shared', minShareCount: 2, test: /^(?!.*\/entry\.ts$)/ }] },
    sourcemap: true,
    // From `dist/node`, wherever in `src` it was imported.
    paths: (id) => id.replace(/^.*\/sync\//, '../sync/'),
  },
});
