/** Clients of both libraries, as a program would make them; each closes with the test that made it. */
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { onTestFinished } from 'vitest';

export type Library = 'ioredis' | 'node-redis';
export const libraries: readonly Library[] = ['ioredis', 'node-redis'];

export interface User {
  readonly username: string;
  readonly password: string;
}

export async function connect(library: Library, port: number, user?: User): Promise<unknown> {
  if (library === 'ioredis') {
    const client = new Redis({ port, ...user, lazyConnect: true });
    client.on('error', () => {});
    onTestFinished(() => client.disconnect());
    await client.connect();
    return client;
  }
  const client = createClient({ url: `redis://127.0.0.1:${port}`, ...user });
  client.on('error', () => {});
  onTestFinished(() => client.destroy());
  await client.connect();
  return client;
}
