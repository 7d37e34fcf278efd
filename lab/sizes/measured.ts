/**
 * The sizes of what an application imports, from the package and from the narrow peer of each class: bundled by
 * esbuild, minified and compressed by gzip.
 *
 * Invariant: a peer is the installed version of the lock file, bundled like ours for the same platform.
 */
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, type Platform } from 'esbuild';

interface Import {
  readonly from: string;
  /** The imported names. Default: all. */
  readonly names?: readonly string[];
  /** What it is not used without. */
  readonly and?: Import;
  /** As Markdown. Default: the name of the package. */
  readonly title?: string;
}

interface Line {
  /** The name of the figure in the text. */
  readonly id: string;
  readonly ours: Import;
  readonly peers: readonly Import[];
  /** Default: the browser's. Node's is for what runs only there. */
  readonly platform?: Platform;
}

export interface Sized {
  readonly title: string;
  readonly bytes: number;
}

export interface MeasuredLine {
  readonly id: string;
  readonly ours: Sized;
  readonly peers: readonly Sized[];
}

const ours = (name: string): Import => ({ from: 'pointsman', names: [name], title: `\`${name}\`` });
const entry = (from: string, title = `\`${from}\``): Import => ({ from, title });
const peer = (from: string, ...names: string[]): Import => ({ from, names });

const lines: readonly Line[] = [
  {
    id: 'Semaphore',
    ours: ours('Semaphore'),
    peers: [peer('async-mutex', 'Semaphore'), peer('@henrygd/semaphore', 'getSemaphore')],
  },
  {
    id: 'Mutex',
    ours: ours('Mutex'),
    peers: [peer('async-mutex', 'Mutex'), peer('async-lock', 'default')],
  },
  {
    id: 'Limiter',
    ours: ours('Limiter'),
    peers: [
      peer('p-limit', 'default'),
      peer('p-throttle', 'default'),
      peer('p-queue', 'default'),
      peer('bottleneck', 'default'),
    ],
  },
  {
    id: 'Channel',
    ours: ours('Channel'),
    peers: [peer('it-pushable', 'pushable'), peer('@thi.ng/csp', 'Channel')],
  },
  { id: 'select', ours: ours('select'), peers: [] },
  { id: 'pointsman', ours: entry('pointsman', 'all of `pointsman`'), peers: [] },
  {
    id: 'pool',
    ours: entry('pointsman/pool'),
    peers: [
      peer('tinypool', 'Tinypool'),
      peer('workerpool', 'pool', 'worker'),
      peer('piscina', 'Piscina'),
    ],
    platform: 'node',
  },
  {
    id: 'bridge',
    ours: entry('pointsman/bridge'),
    peers: [peer('comlink', 'wrap', 'expose'), peer('synckit', 'createSyncFn', 'runAsWorker')],
    platform: 'node',
  },
  {
    id: 'redis',
    ours: {
      from: 'pointsman/shared',
      names: ['SharedMutex'],
      and: { from: 'pointsman/redis', names: ['redis'] },
      title: '`SharedMutex` on `redis`',
    },
    peers: [peer('redlock', 'default'), peer('redis-semaphore', 'Mutex')],
    platform: 'node',
  },
  {
    id: 'host',
    ours: {
      from: 'pointsman/shared',
      names: ['SharedMutex'],
      and: { from: 'pointsman/host', names: ['host'] },
      title: '`SharedMutex` on `host`',
    },
    peers: [],
    platform: 'node',
  },
];

const exportOf = ({ from, names, and }: Import): string =>
  `export ${names ? `{ ${names.join(', ')} }` : '*'} from '${from}';${and ? exportOf(and) : ''}`;

async function sizeOf(one: Import, platform: Platform): Promise<number> {
  const { outputFiles } = await build({
    stdin: {
      contents: exportOf(one),
      resolveDir: fileURLToPath(new URL('.', import.meta.url)),
    },
    bundle: true,
    external: ['node:*'],
    minify: true,
    format: 'esm',
    target: 'es2022',
    platform,
    write: false,
    logLevel: 'error',
  });
  return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length;
}

export function measureSizes(): Promise<MeasuredLine[]> {
  return Promise.all(
    lines.map(async ({ id, ours, peers, platform = 'browser' }) => {
      const measure = async (one: Import): Promise<Sized> => ({
        title: one.title ?? one.from,
        bytes: await sizeOf(one, platform),
      });
      return { id, ours: await measure(ours), peers: await Promise.all(peers.map(measure)) };
    }),
  );
}
