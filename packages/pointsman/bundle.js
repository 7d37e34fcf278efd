/**
 * Makes what is published, `dist`: the JavaScript and the declarations of each entry, in few files. Node opens eight of
 * them for a pool and seven for each of its threads, where the compiler would make forty. Bundlers still leave out each
 * class that is not used: nothing that stands beside it has an effect.
 *
 * Invariant: nothing is there twice. What several entries need lies in one file that all of them import, and what Node
 * needs besides in a file of its own. A script of a thread lies beside the file that starts it.
 */
import { rmSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';

const folder = fileURLToPath(new URL('.', import.meta.url));
const dir = `${folder}dist`;

const entries = {
  index: 'sync/index',
  bridge: 'bridge/index',
  pool: 'pool/index',
  diagnostics: 'diagnostics/index',
  shared: 'shared/index',
  redis: 'redis/index',
  host: 'host/index',
  http: 'http/index',
};
const forNode = {
  'bridge.node': 'bridge/index.node',
  'pool.node': 'pool/index.node',
  'diagnostics.node': 'diagnostics/index.node',
};
const scriptsOfThreads = {
  entry: 'pool/entry',
  'entry.node': 'pool/entry.node',
  'module-entry.node': 'bridge/module-entry.node',
  'server-thread': 'host/server-thread',
};

const pathFrom = (start, id) => relative(start, id).replaceAll(sep, '/');
/** Modules by their path inside of the package: the path of a checkout may contain any name. */
const within = (pattern) => (id) => pattern.test(pathFrom(folder, id));

/** What entries share that have nothing else in common. */
const shared = [
  {
    name: 'common',
    test: within(/\/sync\/(dispose|errors|options|wait\/give-up)\./),
  },
  { name: 'transport', test: within(/\/transport\/(?!.*\.node\.)/) },
];
/**
 * What an entry shares with its variant for Node, and a pool with the scripts of its threads, is a file. Of the entries
 * from which one class may be all that is wanted each module is one: bundlers keep the classes with computed names, as
 * of `[Symbol.dispose]`, in every file that they use.
 */
const groups = [
  ...shared,
  {
    name: (id) => pathFrom(`${folder}src`, id).slice(0, -3),
    debugName: 'modules',
    test: within(/\/(sync|shared|redis)\/(?!index\.)/),
  },
  { name: 'host-server', test: within(/\/host\/(?!index\.|server-thread\.)/) },
  { name: 'transport.node', test: within(/\/transport\/.*\.node\./) },
  { name: 'pool-thread', test: within(/\/pool\/(?!.*\.node\.|entry\.|index\.)/), minShareCount: 4 },
  { name: 'pool-thread.node', test: within(/\/pool\/platform\.node\./) },
  { name: 'pool-host', test: within(/\/pool\/(?!.*\.node\.|entry\.|index\.)/), minShareCount: 2 },
  { name: 'bridge-calls', test: within(/\/bridge\/(?!.*\.node\.|index\.)/) },
  { name: 'diagnostics-watch', test: within(/\/diagnostics\/(?!.*\.node\.|index\.)/) },
];

const inputs = (modules, from, ending) =>
  Object.fromEntries(
    Object.entries(modules).map(([name, path]) => [name, `${folder}${from}/${path}${ending}`]),
  );
const common = {
  cwd: folder,
  // Other packages, and the modules of Node.
  external: (id) => !id.startsWith('.') && !isAbsolute(id),
};

rmSync(dir, { recursive: true, force: true });

await build({
  ...common,
  input: inputs(entries, 'declarations', '.d.ts'),
  plugins: [dts({ dtsInput: true, emitDtsOnly: true, tsconfig: false })],
  experimental: { attachDebugInfo: 'none' },
  output: {
    dir,
    chunkFileNames: '[name].d.ts',
    codeSplitting: {
      groups: [...shared, { name: 'shared-types', test: within(/\/shared\/(?!index\.)/) }],
    },
    minifyInternalExports: false,
    // What the compiler needs to know `Disposable`.
    postBanner: '/// <reference lib="esnext.disposable" />',
  },
});

await build({
  ...common,
  input: inputs({ ...entries, ...forNode, ...scriptsOfThreads }, 'src', '.ts'),
  platform: 'neutral',
  preserveEntrySignatures: 'allow-extension',
  tsconfig: `${folder}tsconfig.json`,
  resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  transform: { target: 'es2022' },
  output: {
    dir,
    chunkFileNames: '[name].js',
    codeSplitting: { groups, includeDependenciesRecursively: false },
    minifyInternalExports: false,
    // Comments for readers are in the declarations; those for bundlers stay. There are no source maps: without the
    // sources they say nothing, with them the package would be three times as large, and this code can be read.
    comments: { annotation: true, jsdoc: false, legal: false },
  },
});
