/**
 * What the tests of the Redis mutex stand on: a server for each file, a namespace for each test, and
 * mutexes with a client of their own, so that each is to the server what another process would be.
 */
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, vi } from 'vitest';
import { RedisMutex, type RedisMutexOptions } from '../../src/redis/index.js';
import { startProxy } from '../servers/proxy.js';
import { type Server, type ServerOptions, startServer } from '../servers/server.js';
import { connect, type Library, type User } from './clients.js';

export const handlers = ['script', 'pure'] as const;
export const modes = ['local', 'strict'] as const;
/** Every way in which a mutex can work. */
export const everyWay = handlers.flatMap((handler) => modes.map((mode) => ({ handler, mode })));

/**
 * Two of them that differ in all, for what is told of each. That the rest are like them is proved by the
 * scenarios of `spec/`, which are played in every way, by the fault matrix, and by the property test of
 * the two handlers.
 */
export const ways = [
  { library: 'ioredis', handler: 'script', mode: 'local' },
  { library: 'node-redis', handler: 'pure', mode: 'strict' },
] as const;

/** How patiently a test waits for what must come. */
export const soon = { interval: 5, timeout: 5_000 };

/** Short enough to see it run out, long enough for a machine that does other things too. */
export const short = 300;

export interface ProcessOptions extends RedisMutexOptions {
  readonly library?: Library;
  /** Of the server, or of a proxy before it. */
  readonly port?: number;
  readonly user?: User;
}

export class Scene {
  server!: Server;
  namespace = '';

  async process({
    library = 'ioredis',
    port = this.server.port,
    user,
    ...options
  }: ProcessOptions = {}) {
    const client = await connect(library, port, user);
    const mutex = new RedisMutex(client, { namespace: this.namespace, ttl: 1_000, ...options });
    onTestFinished(() => mutex.close());
    return mutex;
  }

  async proxy() {
    const proxy = await startProxy(this.server.port);
    onTestFinished(() => proxy.stop());
    return proxy;
  }

  /** A process whose connections can be disturbed. */
  async disturbed(options: ProcessOptions = {}) {
    const proxy = await this.proxy();
    const mutex = await this.process({ ...options, port: proxy.port });
    return { proxy, mutex };
  }

  /** What the namespace has on the server. */
  keys(): Promise<string[]> {
    return this.server.command('KEYS', `{${this.namespace}}:*`) as Promise<string[]>;
  }

  /** Calls of each command so far, those of an observer left out. */
  async calls(): Promise<Record<string, number>> {
    const text = String(await this.server.command('INFO', 'commandstats'));
    const counts = text.matchAll(/^cmdstat_(\S+):calls=(\d+)/gm);
    return Object.fromEntries(
      [...counts]
        .filter(([, name]) => name !== 'info')
        .map(([, name, calls]) => [name, Number(calls)]),
    );
  }
}

/** A server for the tests of one file or group. */
export function useServer(options: ServerOptions = {}): Scene {
  const scene = new Scene();
  let tests = 0;
  beforeAll(async () => {
    scene.server = await startServer(options);
    // A young server may be one that has lost everything: its first locks would wait for a lease.
    const uptime = async () => String(await scene.server.command('INFO', 'server'));
    await vi.waitFor(async () => expect(await uptime()).toMatch(/^uptime_in_seconds:[1-9]/m), soon);
  });
  afterAll(() => scene.server.stop());
  beforeEach(() => {
    scene.namespace = `test-${++tests}`;
  });
  return scene;
}

export interface Outcome<T> {
  readonly promise: Promise<T>;
  state: 'pending' | 'fulfilled' | 'rejected';
  value?: T;
  reason?: unknown;
}

/** What has become of a promise by now. */
export function watch<T>(promise: Promise<T>): Outcome<T> {
  const outcome: Outcome<T> = { promise, state: 'pending' };
  promise.then(
    (value) => Object.assign(outcome, { state: 'fulfilled', value }),
    (reason) => Object.assign(outcome, { state: 'rejected', reason }),
  );
  return outcome;
}

/** Waits until the server knows of so many requests that wait. */
export async function untilWaiting(mutex: RedisMutex, count: number): Promise<void> {
  await expect.poll(async () => (await mutex.query()).waiting.length, soon).toBe(count);
}

/** Waits until the server knows of exactly these locked keys, and of nobody who waits. */
export async function untilHeld(mutex: RedisMutex, ...keys: string[]): Promise<void> {
  await expect
    .poll(async () => {
      const { held, waiting } = await mutex.query();
      return { held: held.flatMap((lock) => lock.keys).sort(), waiting: waiting.length };
    }, soon)
    .toEqual({ held: keys, waiting: 0 });
}
