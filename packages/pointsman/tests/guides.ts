/** The examples in doc comments and guides, and their compilation into programs. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

export interface Example {
  /** Its file and line. */
  readonly name: string;
  readonly code: string;
}

export function filesIn(folder: string, ending: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending) && !/\.test(-d)?\.ts$/.test(name))
    .map((name) => join(folder, name));
}

export const ours = /from 'pointsman(\/\w+)*'/;

/** Each program of these pages is written twice: with another library, and with this package. */
export const migrations = join(root, 'docs/migrate');

/** The blocks with this fence, in comments or text, that use this package, or the library that it replaces. */
export function examplesOf(file: string, fence = 'ts'): Example[] {
  const content = readFileSync(file, 'utf8');
  const block = `^([ \\t]*(?:\\* )?)\`\`\`${fence}\\n([\\s\\S]*?)^[ \\t]*(?:\\* )?\`\`\`$`;
  return [...content.matchAll(new RegExp(block, 'gm'))]
    .map(({ 1: margin = '', 2: block = '', index }) => ({
      name: `${relative(root, file)}:${content.slice(0, index).split('\n').length}`,
      code: block
        .split('\n')
        .map((line) => (line.startsWith(margin.trimEnd()) ? line.slice(margin.length) : line))
        .join('\n'),
    }))
    .filter(({ code }) => file.startsWith(migrations) || ours.test(code));
}

/** The files of an example: several, each behind a comment with its name, or one without a name. */
export function filesOf(code: string): [name: string, code: string][] {
  const [first = '', ...rest] = code.split(/^\/\/ ([a-z]+)\.ts\n/m);
  if (rest.length === 0) return [['example', first]];
  return rest.flatMap((name, index) =>
    index % 2 === 0 ? [[name, rest[index + 1] ?? ''] as [string, string]] : [],
  );
}

/** Compiles the files of an example into `folder` and returns the path of the first one. */
export async function compileInto(folder: string, { name, code }: Example): Promise<string> {
  const files = filesOf(code);
  for (const [file, text] of files) {
    const { code: script } = await transform(text, {
      loader: 'ts',
      sourcefile: name,
      target: 'es2022',
    });
    writeFileSync(join(folder, `${file}.js`), script);
  }
  return join(folder, `${files[0]?.[0]}.js`);
}
