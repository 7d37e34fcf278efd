/** A server that grants locks at once. */
import { vi } from 'vitest';
import { type Server, startServer } from './server.js';

/** A server grants no locks in its first seconds, because locks of before a restart could still be held. */
export async function startLockServer(): Promise<Server> {
  const server = await startServer();
  const uptime = async () =>
    Number(/uptime_in_seconds:(\d+)/.exec(String(await server.command('INFO', 'server')))?.[1]);
  await vi.waitFor(
    async () => {
      if ((await uptime()) < 6) throw new Error('the server is too young');
    },
    { timeout: 20_000, interval: 100 },
  );
  return server;
}
