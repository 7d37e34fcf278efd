/**
 * The examples in the documentation are correct: each is compiled and run, and its output must equal the comments
 * behind its `console.log` calls, line by line.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  compileInto,
  type Example,
  examplesOf,
  filesIn,
  filesOf,
  migrations,
  ours,
  root,
} from './guides.js';
import { startLockServer } from './servers/lock-server.js';
import type { Server } from './servers/server.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const source = join(here, '../src');
const entries = {
  pointsman: join(source, 'sync/index.ts'),
  'pointsman/bridge': join(source, 'bridge/index.ts'),
  'pointsman/pool': join(source, 'pool/index.ts'),
  'pointsman/diagnostics': join(source, 'diagnostics/index.ts'),
  'pointsman/shared': join(source, 'shared/index.ts'),
  'pointsman/redis': join(source, 'redis/index.ts'),
  'pointsman/host': join(source, 'host/index.ts'),
  'pointsman/http': join(source, 'http/index.ts'),
};

/** Declarations for other libraries that come without them. */
const untyped = ['bridge/subjects/comlink-adapter.d.ts', 'lock/subjects/redlock-package.d.ts'];

const folders = new Set(Object.values(entries).map((entry) => dirname(entry)));
const sources = [...folders]
  .flatMap((folder) => filesIn(folder, '.ts'))
  .flatMap((file) => examplesOf(file));
const guides = [
  join(root, 'README.md'),
  join(here, '../README.md'),
  join(root, 'site/pages/home.md'),
  ...filesIn(join(root, 'docs'), '.md'),
]
  .filter(existsSync)
  .flatMap((file) => examplesOf(file));
const examples = [...sources, ...guides];
/** Programs that tests of their own run: `graceful-shutdown`, `crawler` and `guide-tests`. */
const programFences = ['ts server', 'ts crawler', 'ts vitest', 'ts node:test'];
const programs = filesIn(join(root, 'docs/how-to'), '.md').flatMap((file) =>
  programFences.flatMap((fence) => examplesOf(file, fence)),
);

/** The output that the comments of an example promise. */
function promises(code: string): string[] {
  return code
    .split('\n')
    .filter((line) => line.includes('console.log('))
    .map((line) => /[;}] \/\/ (.*)$/.exec(line)?.[1] ?? `a comment is missing: ${line.trim()}`);
}

let server: Server;

beforeAll(async () => {
  server = await startLockServer();
}, 30_000);

afterAll(() => server.stop());

/** Runs the first file inside the package, so that it finds the built package and the client libraries. */
async function outputOf({ name, code }: Example): Promise<string[]> {
  const folder = mkdtempSync(join(here, '.example-'));
  // Not `onTestFinished`: among concurrent tests it may belong to another.
  try {
    // A first decision takes longer than that on a busy machine: it connects to the server.
    const patient = code.replaceAll(/deadline: [15]00\b/g, 'deadline: 10_000');
    const first = await compileInto(folder, { name, code: patient });
    const program = spawn(process.execPath, [first], {
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
  const onRedis = examples.filter(({ code }) => /from '(pointsman\/redis|redlock)'/.test(code));
  const others = examples.filter((example) => !onRedis.includes(example));

  test.concurrent.each(named(others))('%s', { timeout: 30_000 }, run);
  test.each(named(onRedis))('%s', { timeout: 30_000 }, run);
});

test('there are programs for other libraries', () => {
  expect(
    filesIn(migrations, '.md').flatMap((file) => examplesOf(file)).length,
  ).toBeGreaterThanOrEqual(100);
});

test.each(filesIn(migrations, '.md'))('%s: both libraries print the same', (page) => {
  const programs = examplesOf(page);
  for (let index = 0; index < programs.length; index += 2) {
    const [before, after] = programs.slice(index, index + 2);
    expect(before?.code, before?.name).not.toMatch(ours);
    expect(after?.code, before?.name).toMatch(ours);
    expect(promises(after?.code ?? ''), after?.name).toEqual(promises(before?.code ?? ''));
  }
});

test('the examples are correct TypeScript', { timeout: 30_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-examples-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const [index, { name, code }] of [...examples, ...programs].entries()) {
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
    include: [join(folder, '*/*.ts'), ...untyped.map((file) => join(root, 'lab/tables', file))],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig));
  const compiler = join(
    createRequire(import.meta.url).resolve('typescript/package.json'),
    '../bin/tsc',
  );
  const program = spawn(process.execPath, [compiler, '-p', folder, '--pretty', 'false']);
  expect(await text(program.stdout)).toBe('');
});
