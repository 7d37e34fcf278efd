/** The built entries for Node work together: each accepts objects that another has made. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as task from 'pointsman';
import * as bridge from 'pointsman/bridge';
import * as diagnostics from 'pointsman/diagnostics';
import * as host from 'pointsman/host';
import * as http from 'pointsman/http';
import * as pool from 'pointsman/pool';
import * as redis from 'pointsman/redis';
import * as shared from 'pointsman/shared';
import { expect, test } from 'vitest';

test('a name exported by several entries is the same object', () => {
  const entries: readonly Record<string, unknown>[] = [
    task,
    bridge,
    pool,
    shared,
    redis,
    host,
    http,
    diagnostics,
  ];
  const met = new Map<string, unknown>();
  const several: string[] = [];
  for (const [name, value] of entries.flatMap((entry) => Object.entries(entry))) {
    if (met.has(name)) several.push(name);
    else met.set(name, value);
    expect(met.get(name), name).toBe(value);
  }
  expect(several).toContain('transfer');
});

test('a pool throws the error classes of the main entry', async () => {
  await using threads = new pool.Pool({ threads: 1 });
  const forever = pool.inline(() => new Promise<never>(() => {}));
  await expect(threads.run(forever, [], { timeout: 1 })).rejects.toBeInstanceOf(task.TimeoutError);
});

test('a program given with --eval can use a pool', async () => {
  const program = `
    import { Pool } from 'pointsman/pool';
    const pool = new Pool({ module: 'node:path' });
    console.log(await pool.run('basename', ['/a/b']));
    await pool.close();
  `;
  const options = ['--input-type=module', '--eval', program];
  const cwd = fileURLToPath(new URL('.', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, options, { cwd });
  expect(stdout).toBe('b\n');
});
