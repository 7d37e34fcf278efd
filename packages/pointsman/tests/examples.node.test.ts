/**
 * The examples in the documentation are correct: each is compiled and run, and its output must equal the comments
 * behind its `console.log` calls, line by line.
 */
import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Server, startServer } from './servers/server.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = join(here, '../../..');
const source = join(here, '../src');
const entries = {
  pointsman: join(source, 'sync/index.ts'),
  'pointsman/bridge': join(source, 'bridge/index.ts'),
  'pointsman/pool': join(source, 'pool/index.ts'),
  'pointsman/diagnostics': join(source, 'diagnostics/index.ts'),
  'pointsman/redis': join(source, 'redis/index.ts'),
};

interface Example {
  /** Its file and line. */
  readonly name: string;
  readonly code: string;
}

function filesIn(folder: string, ending: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending) && !/\.test(-d)?\.ts$/.test(name))
    .map((name) => join(folder, name));
}

/** The blocks fenced as `ts`, in comments or text, that use this package. */
function examplesOf(file: string): Example[] {
  const content = readFileSync(file, 'utf8');
  return [...content.matchAll(/^([ \t]*(?:\* )?)```ts\n([\s\S]*?)^[ \t]*(?:\* )?```$/gm)]
    .map(({ 1: margin = '', 2: block = '', index }) => ({
      name: `${relative(root, file)}:${content.slice(0, index).split('\n').length}`,
      code: block
        .split('\n')
        .map((line) => (line.startsWith(margin.trimEnd()) ? line.slice(margin.length) : line))
        .join('\n'),
    }))
    .filter(({ code }) => /from 'pointsman(\/\w+)*'/.test(code));
}

const folders = new Set(Object.values(entries).map((entry) => dirname(entry)));
const sources = [...folders].flatMap((folder) => filesIn(folder, '.ts')).flatMap(examplesOf);
const guides = [
  join(root, 'README.md'),
  join(here, '../README.md'),
  join(root, 'site/pages/home.md'),
  ...filesIn(join(root, 'docs'), '.md'),
]
  .filter(existsSync)
  .flatMap(examplesOf);
const examples = [...sources, ...guides];

/** The output that the comments of an example promise. */
function promises(code: string): string[] {
  return code
    .split('\n')
    .filter((line) => line.includes('console.log('))
    .map((line) => /[;}] \/\/ (.*)$/.exec(line)?.[1] ?? `a comment is missing: ${line.trim()}`);
}

let server: Server;

beforeAll(async () => {
  server = await startServer();
  // A server grants no locks in its first seconds, because locks of before a restart could still be held.
  const uptime = async () =>
    Number(/uptime_in_seconds:(\d+)/.exec(String(await server.command('INFO', 'server')))?.[1]);
  await vi.waitFor(async () => expect(await uptime()).toBeGreaterThanOrEqual(6), 20_000);
}, 30_000);

afterAll(() => server.stop());

/** The files of an example: several, each behind a comment with its name, or one without a name. */
function filesOf(code: string): [name: string, code: string][] {
  const [first = '', ...rest] = code.split(/^\/\/ ([a-z]+)\.ts\n/m);
  if (rest.length === 0) return [['example', first]];
  return rest.flatMap((name, index) =>
    index % 2 === 0 ? [[name, rest[index + 1] ?? ''] as [string, string]] : [],
  );
}

/** Runs the first file inside the package, so that it finds the built package and the client libraries. */
async function outputOf({ name, code }: Example): Promise<string[]> {
  const folder = mkdtempSync(join(here, '.example-'));
  // Not `onTestFinished`: among concurrent tests it may belong to another.
  try {
    const files = filesOf(code);
    for (const [file, text] of files) {
      const { code: script } = await transform(text, {
        loader: 'ts',
        sourcefile: name,
        target: 'es2022',
      });
      writeFileSync(join(folder, `${file}.js`), script);
    }
    const program = spawn(process.execPath, [join(folder, `${files[0]?.[0]}.js`)], {
      env: { NO_COLOR: '1', REDIS_URL: server.url },
    });
    const [output, errors] = await Promise.all([text(program.stdout), text(program.stderr)]);
    expect(errors).toBe('');
    return output.split('\n').slice(0, -1);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('there are examples in the sources', () => {
  expect(sources.length).toBeGreaterThanOrEqual(10);
});

describe('prints what its comments say', () => {
  const named = (some: readonly Example[]) =>
    some.map((example) => [example.name, example] as const);
  const run = async (_: string, example: Example) =>
    expect(await outputOf(example)).toEqual(promises(example.code));
  // These examples share keys, so they run one after the other.
  const onRedis = examples.filter(({ code }) => code.includes("from 'pointsman/redis'"));
  const others = examples.filter((example) => !onRedis.includes(example));

  test.concurrent.each(named(others))('%s', { timeout: 30_000 }, run);
  test.each(named(onRedis))('%s', { timeout: 30_000 }, run);
});

test('the examples are correct TypeScript', { timeout: 30_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-examples-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const [index, { name, code }] of examples.entries()) {
    mkdirSync(join(folder, `${index}`));
    for (const [file, text] of filesOf(code)) {
      writeFileSync(join(folder, `${index}`, `${file}.ts`), `// ${name}\n${text}`);
    }
  }
  const tsconfig = {
    extends: join(root, 'tsconfig.base.json'),
    compilerOptions: {
      lib: ['ES2023', 'ESNext.Disposable', 'DOM'],
      composite: false,
      declaration: false,
      noEmit: true,
      allowImportingTsExtensions: true,
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
      paths: Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, [entry]])),
    },
    include: [join(folder, '*/*.ts')],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig));
  const compiler = join(
    createRequire(import.meta.url).resolve('typescript/package.json'),
    '../bin/tsc',
  );
  const program = spawn(process.execPath, [compiler, '-p', folder, '--pretty', 'false']);
  expect(await text(program.stdout)).toBe('');
});
