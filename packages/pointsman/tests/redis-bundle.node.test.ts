/** An application bundled into one file contains all of `pointsman/redis`, its scripts included. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { expect, onTestFinished, test } from 'vitest';
import { startServer } from './servers/server.js';

const application = `
import { createClient } from 'redis';
import { fencedSet, redis } from 'pointsman/redis';
import { SharedMutex } from 'pointsman/shared';

async function main() {
  const client = await createClient({ url: process.env.REDIS_URL }).connect();
  const mutex = new SharedMutex(redis(client, { ttl: 300 }));
  await mutex.run('value', async (guard) => {
    console.log(await fencedSet(client, 'value', 'new', guard), await client.hGet('value', 'value'));
  });
  await mutex.close();
  client.destroy();
}
main();
`;

test('a bundled application runs alone in a folder', async () => {
  const server = await startServer();
  onTestFinished(() => server.stop());
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-bundle-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const outfile = join(folder, 'application.cjs');
  await build({
    stdin: {
      contents: application,
      resolveDir: fileURLToPath(new URL('.', import.meta.url)),
    },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile,
  });
  const env = { ...process.env, REDIS_URL: server.url };
  const { stdout } = await promisify(execFile)(process.execPath, [outfile], { cwd: folder, env });
  expect(stdout).toBe('true new\n');
});
