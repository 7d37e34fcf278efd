/**
 * A wait at a condition that fails before it is parked: the real client over a server in memory. The
 * error is thrown once, and no request stays behind that would be granted to nobody.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Network, Server } from '../../../tests/redis/model/memory.js';
import { Connections } from '../connections.js';
import { LockLostError } from '../errors.js';
import { RedisMutex } from '../redis-mutex.js';

vi.mock('../handlers/script.js', async () => {
  const { MemoryHandler } = await import('../../../tests/redis/model/memory.js');
  return { ScriptHandler: MemoryHandler };
});

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance', 'Date'],
  });
});

afterEach(() => {
  vi.useRealTimers();
});

const ttl = 300;

async function holder() {
  const server = new Server();
  let delay = 1;
  const network = new Network(
    server,
    () => delay,
    () => 0.9,
  );
  const mutex = new RedisMutex(new Connections(network) as never, { ttl, namespace: 'n' });
  const locked = mutex.lock('a');
  await vi.advanceTimersByTimeAsync(50);
  const unplug = (): void => {
    delay = 1e6;
    network.forCommands?.cut();
  };
  return { server, mutex, guard: await locked, unplug };
}

test('the session is lost meanwhile', async () => {
  const { server, mutex, guard } = await holder();
  server.lose();
  const waiting = mutex.condition('c').wait(guard);
  const outcome = expect(waiting).rejects.toThrow(LockLostError);
  await vi.advanceTimersByTimeAsync(3 * ttl);
  await outcome;
  const { locks, requests } = server.state;
  expect([...locks.keys(), ...requests.keys()]).toEqual([]);
  await Promise.all([mutex.close(), vi.advanceTimersByTimeAsync(ttl)]);
});

test('the server cannot be reached', async () => {
  const { mutex, guard, unplug } = await holder();
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  unplug();
  const outcome = expect(mutex.condition('c').wait(guard)).rejects.toThrow(LockLostError);
  await vi.advanceTimersByTimeAsync(10_000);
  await outcome;
  process.off('unhandledRejection', unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});
