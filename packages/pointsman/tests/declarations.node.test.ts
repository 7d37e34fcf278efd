/**
 * The published declarations are complete: all entries compile with `skipLibCheck` off, with the types of Node, those
 * of a browser or both, and without the newest library types.
 */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };

const root = fileURLToPath(new URL('..', import.meta.url));
const typescript = createRequire(import.meta.url).resolve('typescript/package.json');
const entries = Object.values(manifest.exports).flatMap((entry) =>
  typeof entry === 'string' ? [] : entry.types,
);
const anywhere = entries.filter((entry) => !entry.includes('redis'));

test('each entry has declarations', () => {
  expect(entries).toHaveLength(8);
  expect(anywhere).toHaveLength(7);
});

test.each([
  ['in Node', entries, ['--lib', 'es2022', '--types', 'node']],
  ['in a browser', anywhere, ['--lib', 'es2022,dom', '--types', '']],
  ['with the types of both', entries, ['--lib', 'es2022,dom', '--types', 'node']],
])('%s', { timeout: 60_000 }, async (_, entries, environment) => {
  // Each entry alone, because the declarations of one could complete another.
  const said = await Promise.all(entries.map((entry) => compile(entry, environment)));
  expect(said.join('')).toBe('');
});

async function compile(entry: string, environment: readonly string[]): Promise<string> {
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', 'false'];
  const modules = ['--target', 'es2022', '--module', 'nodenext', '--pretty', 'false'];
  const compiler = join(typescript, '../bin/tsc');
  const parameters = [compiler, ...options, ...modules, ...environment, join(root, entry)];
  const program = spawn(process.execPath, parameters, { cwd: join(typescript, '../../..') });
  return text(program.stdout);
}
