/** Several processes of a server admit together as many requests as one, also if one of them dies. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { currentServer } from '../../../tests/host/processes.js';
import { useServer } from '../../../tests/redis/scene.js';
import { folderNameOf } from '../../host/names.js';

const scene = useServer();
const script = fileURLToPath(new URL('../../../tests/rate-limited/server.mjs', import.meta.url));

async function startProcess(options: object) {
  const child = fork(script, [JSON.stringify(options)], { execArgv: [] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [url] = (await once(child, 'message')) as [string];
  const get = async (key: string) => (await fetch(url, { headers: { 'x-api-key': key } })).status;
  return { child, get };
}

describe.each(['express', 'fastify'])('%s', (framework) => {
  test.each(['host', 'redis'])('%s', async (kind) => {
    const place = kind === 'host' ? { directory: scene.directory } : { port: scene.server.port };
    const { namespace } = scene;
    const options = { framework, namespace, ...place, limit: 50, window: 3_600_000 };
    const processes = [await startProcess(options), await startProcess(options)] as const;
    const getAll = (count: number, key: string) =>
      Promise.all(Array.from({ length: count }, (_, i) => processes[i % 2]?.get(key)));

    const epoch = () =>
      kind === 'host'
        ? currentServer(join(scene.directory, folderNameOf(namespace))).epoch
        : undefined;
    await getAll(2, 'connects');
    const before = epoch();
    const statuses = await getAll(80, 'a');
    const served = statuses.filter((status) => status === 200);
    expect(served.length).toBeLessThanOrEqual(50);
    // If a slow process that served the other was succeeded, requests were sent again and may have counted twice.
    if (epoch() === before) expect(served).toHaveLength(50);
    expect(statuses.filter((status) => status === 429)).toHaveLength(80 - served.length);

    expect(await getAll(30, 'b')).toEqual(Array(30).fill(200));
    const [{ child }, { get }] = processes;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
    const later = await Promise.all(Array.from({ length: 40 }, () => get('b')));
    const admitted = later.filter((status) => status === 200).length;
    // If the process that died had served the other, requests are sent again and may count twice.
    expect(admitted).toBeLessThanOrEqual(20);
    expect(admitted).toBeGreaterThan(0);
    expect(await get('a')).toBe(429);
  });
});
