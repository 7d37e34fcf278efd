/**
 * The setting of the Redis tests: a server for each file, a namespace for each test, and mutexes with a client of
 * their own, so that each is a separate process to the server.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, vi } from 'vitest';
import { host } from '../../src/host/index.js';
import { type RedisClient, type RedisOptions, redis } from '../../src/redis/index.js';
import { SharedMutex, type SharedMutexOptions, type Store } from '../../src/shared/index.js';
import { startProxy } from '../servers/proxy.js';
import { type Server, type ServerOptions, startServer } from '../servers/server.js';
import { connect, type Library, type User } from './clients.js';

export const handlers = ['script', 'pure'] as const;
/** And the store of one machine. */
export const storeHandlers = [...handlers, 'host'] as const;
export const modes = ['local', 'strict'] as const;
/** Every combination of handler and mode. */
export const everyWay = handlers.flatMap((handler) => modes.map((mode) => ({ handler, mode })));

/**
 * Two combinations that differ in both, for tests of every aspect. The other combinations are covered by the scenarios
 * of `spec/`, the fault matrix, and the property test of the two handlers.
 */
export const ways = [
  { library: 'ioredis', handler: 'script', mode: 'local' },
  { library: 'node-redis', handler: 'pure', mode: 'strict' },
] as const;

/** The polling interval and the limit of a wait. */
export const soon = { interval: 5, timeout: 5_000 };

/** Milliseconds: short enough to expire in a test, long enough for a busy machine. */
export const short = 300;

/** Those, and the store of one machine, for tests of what does not depend on the store. */
export const storeWays = [
  ...ways,
  { library: undefined, handler: 'host', mode: 'local' },
  { library: undefined, handler: 'host', mode: 'strict' },
] as const;

export interface MutexOptions extends RedisOptions, SharedMutexOptions {}

/** A mutex on a store of its own. */
export function mutexOn(client: RedisClient, { mode, ...options }: MutexOptions = {}): SharedMutex {
  return new SharedMutex(redis(client, options), { mode });
}

export interface ProcessOptions extends Omit<MutexOptions, 'handler'> {
  /** `host` is the store of one machine. */
  readonly handler?: RedisOptions['handler'] | 'host';
  readonly library?: Library | undefined;
  /** The port of the server, or of a proxy to it. */
  readonly port?: number;
  readonly user?: User;
}

export class Scene {
  server!: Server;
  /** Where processes of this machine meet. */
  directory = '';
  namespace = '';

  async store({
    library = 'ioredis',
    port = this.server.port,
    user,
    handler,
    namespace = this.namespace,
    ttl = 1_000,
    name,
    mode: _,
  }: ProcessOptions = {}): Promise<Store> {
    const store =
      handler === 'host'
        ? host(namespace, { ttl, name, directory: this.directory })
        : redis(await connect(library, port, user), { namespace, ttl, name, handler });
    onTestFinished(() => store.close());
    return store;
  }

  async process(options: ProcessOptions = {}): Promise<SharedMutex> {
    return new SharedMutex(await this.store(options), { mode: options.mode });
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

  /** The keys of the namespace on the server. */
  keys(): Promise<string[]> {
    return this.server.command('KEYS', `{${this.namespace}}:*`) as Promise<string[]>;
  }

  /** The number of calls of each command so far, without those of an observer. */
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
    scene.directory = mkdtempSync(join(tmpdir(), 'pointsman-host-'));
    // A server that has just started may have lost its data, so its first locks would wait for a lease.
    const uptime = async () => String(await scene.server.command('INFO', 'server'));
    await vi.waitFor(async () => expect(await uptime()).toMatch(/^uptime_in_seconds:[1-9]/m), soon);
  });
  afterAll(() => {
    rmSync(scene.directory, { recursive: true });
    return scene.server.stop();
  });
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

/** Watches the outcome of a promise. */
export function watch<T>(promise: Promise<T>): Outcome<T> {
  const outcome: Outcome<T> = { promise, state: 'pending' };
  promise.then(
    (value) => Object.assign(outcome, { state: 'fulfilled', value }),
    (reason) => Object.assign(outcome, { state: 'rejected', reason }),
  );
  return outcome;
}

/** Waits until the server knows `count` waiting requests. */
export async function untilWaiting(mutex: SharedMutex, count: number): Promise<void> {
  await expect.poll(async () => (await mutex.query()).waiting.length, soon).toBe(count);
}

/** Waits until the server knows exactly these locked keys, and no waiter. */
export async function untilHeld(mutex: SharedMutex, ...keys: string[]): Promise<void> {
  await expect
    .poll(async () => {
      const { held, waiting } = await mutex.query();
      return { held: held.flatMap((lock) => lock.keys).sort(), waiting: waiting.length };
    }, soon)
    .toEqual({ held: keys, waiting: 0 });
}
