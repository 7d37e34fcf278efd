/** The published declarations are whole: they compile where nobody skips the check of libraries. */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const entry = fileURLToPath(new URL('../../dist/sync/index.d.ts', import.meta.url));
const typescript = createRequire(import.meta.url).resolve('typescript/package.json');

test.each([
  ['in a browser', ['--lib', 'es2022,esnext.disposable,dom', '--types', '']],
  ['in Node', ['--lib', 'es2022', '--types', 'node']],
])('%s', async (_, environment) => {
  const options = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    'false',
    '--pretty',
    'false',
  ];
  const modules = ['--target', 'es2022', '--module', 'nodenext'];
  const compiler = join(typescript, '../bin/tsc');
  const parameters = [compiler, ...options, ...modules, ...environment, entry];
  const program = spawn(process.execPath, parameters, { cwd: join(typescript, '../../..') });
  expect(await text(program.stdout)).toBe('');
});
