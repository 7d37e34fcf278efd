/**
 * What Node loads of `dist/thread`, in few files: three for a pool and three for each of its threads, where
 * the compiler makes forty. The first task is done in little more than half the time. Browsers load what the
 * compiler has made: whoever writes for them bundles it anyway.
 *
 * Invariant: nothing is there twice. What several entries need lies in one file that all of them import,
 * and `dist/task`, an entry of its own, stays outside.
 */
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const dist = fileURLToPath(new URL('dist', import.meta.url));

await build({
  input: {
    bridge: `${dist}/thread/bridge/index.node.js`,
    cbor: `${dist}/thread/memory/codec/cbor.js`,
    pool: `${dist}/thread/pool/index.node.js`,
    inline: `${dist}/thread/pool/inline.js`,
    // Where the platform looks for it: beside the file that starts threads.
    'entry.node': `${dist}/thread/pool/entry.node.js`,
  },
  platform: 'node',
  // Other packages, and the folder `task`.
  external: [/^[^./]/, /^\.\.?\/(.*\/)?task\//],
  output: {
    dir: `${dist}/node`,
    chunkFileNames: '[name].js',
    codeSplitting: { groups: [{ name: 'shared', minShareCount: 2 }] },
    sourcemap: true,
  },
});
