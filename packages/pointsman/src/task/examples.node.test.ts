/**
 * The examples of the documentation do what they say: each is compiled and run, and what it prints
 * is what the comments behind its `console.log` calls say, line by line.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { describe, expect, onTestFinished, test } from 'vitest';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = join(here, '../../../..');
const entry = join(here, 'index.ts');

interface Example {
  /** Where it is: the file and the line. */
  readonly name: string;
  readonly code: string;
}

function filesIn(folder: string, ending: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(ending) && !/\.test(-d)?\.ts$/.test(name))
    .map((name) => join(folder, name));
}

/** The blocks that are fenced as `ts`, out of comments or out of text, and that use this package. */
function examplesOf(file: string): Example[] {
  const source = readFileSync(file, 'utf8');
  return [...source.matchAll(/^([ \t]*(?:\* )?)```ts\n([\s\S]*?)^[ \t]*(?:\* )?```$/gm)]
    .map(({ 1: margin = '', 2: block = '', index }) => ({
      name: `${relative(root, file)}:${source.slice(0, index).split('\n').length}`,
      code: block
        .split('\n')
        .map((line) => (line.startsWith(margin.trimEnd()) ? line.slice(margin.length) : line))
        .join('\n'),
    }))
    .filter(({ code }) => /from 'pointsman'/.test(code));
}

const sources = filesIn(here, '.ts').flatMap(examplesOf);
const guides = [
  join(root, 'README.md'),
  join(here, '../../README.md'),
  ...filesIn(join(root, 'docs'), '.md'),
]
  .filter(existsSync)
  .flatMap(examplesOf);
const examples = [...sources, ...guides];

/** What a line of an example says that it prints. */
function promises(code: string): string[] {
  return code
    .split('\n')
    .filter((line) => line.includes('console.log('))
    .map((line) => /[;}] \/\/ (.*)$/.exec(line)?.[1] ?? `a comment is missing: ${line.trim()}`);
}

async function outputOf({ name, code }: Example): Promise<string[]> {
  const { outputFiles } = await build({
    stdin: { contents: code, loader: 'ts', sourcefile: name, resolveDir: here },
    alias: { pointsman: entry },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'es2022',
    write: false,
  });
  const program = spawn(process.execPath, ['--input-type=module'], { env: { NO_COLOR: '1' } });
  program.stdin.end(outputFiles[0]?.text);
  const [output, errors] = await Promise.all([text(program.stdout), text(program.stderr)]);
  expect(errors).toBe('');
  return output.split('\n').slice(0, -1);
}

test('there are examples in the sources', () => {
  expect(sources.length).toBeGreaterThanOrEqual(10);
});

describe('prints what it says', () => {
  test.concurrent.each(examples.map((example) => [example.name, example] as const))(
    '%s',
    async (_, example) => {
      expect(await outputOf(example)).toEqual(promises(example.code));
    },
  );
});

test('the examples are correct TypeScript', { timeout: 30_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-examples-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [index, { name, code }] of examples.entries()) {
    writeFileSync(join(folder, `${index}.mts`), `// ${name}\n${code}`);
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
      paths: { pointsman: [entry] },
    },
    include: [join(folder, '*.mts')],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig));
  const compiler = join(
    createRequire(import.meta.url).resolve('typescript/package.json'),
    '../bin/tsc',
  );
  const program = spawn(process.execPath, [compiler, '-p', folder, '--pretty', 'false']);
  expect(await text(program.stdout)).toBe('');
});
