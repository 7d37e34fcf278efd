/** The real client over a server in memory: replies and messages that overtake each other, and waits that fail. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Network, Server } from '../../../tests/redis/model/memory.js';
import { type MutexOptions, watch } from '../../../tests/redis/scene.js';
import { storeOver } from '../../redis/store.js';
import { LockLostError } from '../errors.js';
import { SharedMutex } from '../mutex.js';
import { processOf, sessionOf } from './protocol.js';
import { signMessage } from './wire.js';

vi.mock('../../redis/handlers/script.js', async () => {
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

/** A mutex over a network of its own. */
function connect(
  server: Server,
  name: string,
  { mode, ...options }: MutexOptions,
  delay = () => 1,
) {
  const network = new Network(server, delay, () => 0.9);
  const mutex = new SharedMutex(storeOver(network, { name, namespace: 'n', ...options }), { mode });
  return { network, mutex };
}

/** No heartbeat repairs the state during a test. */
const unaided = { ttl: 60_000, mode: 'strict' } as const;

test('a grant that arrives before the reply `queued` is not lost', async () => {
  const server = new Server();
  const { mutex: holder } = connect(server, 'holder', unaided);
  const held = holder.lock('k');
  await vi.advanceTimersByTimeAsync(50);
  // Replies sent while the request waits are slow, those after it are fast.
  const delay = () => (server.state.requests.size > 0 ? 20 : 1);
  const { mutex: other } = connect(server, 'other', unaided, delay);
  const waiter = watch(other.lock('k'));
  while (server.state.requests.size === 0) await vi.advanceTimersByTimeAsync(1);
  void (await held).release();
  await vi.advanceTimersByTimeAsync(100);
  expect(waiter.state).toBe('fulfilled');
  const closed = Promise.all([holder.close(), other.close()]);
  await vi.advanceTimersByTimeAsync(100);
  await closed;
});

test('a grant with a lower token than an earlier one is checked with the server', async () => {
  const server = new Server();
  const { mutex: holder } = connect(server, 'holder', unaided);
  const { mutex: other } = connect(server, 'other', unaided);
  const held = holder.lock('k');
  await vi.advanceTimersByTimeAsync(50);
  const earlier = other.lock('l');
  const waiter = watch(other.lock('k'));
  await vi.advanceTimersByTimeAsync(50);
  await earlier;
  const [id] = server.state.requests.keys() as Iterable<string>;
  const session = sessionOf(id as string);
  const grant = { id: id as string, token: 1, contended: false, extra: [] };
  const { secret } = server.state.sessions.get(session) as { secret: string };
  const message = signMessage({ name: 'held', grant }, secret);
  expect(server.publish(`{n}:${processOf(session)}`, message)).toBe(1);
  await vi.advanceTimersByTimeAsync(50);
  expect(waiter.state).toBe('pending');
  void (await held).release();
  await vi.advanceTimersByTimeAsync(50);
  expect(waiter.value?.token).toBeGreaterThan((await held).token);
  const closed = Promise.all([holder.close(), other.close()]);
  await vi.advanceTimersByTimeAsync(100);
  await closed;
});

describe('a wait at a condition that fails before it is parked rejects once and leaves no request', () => {
  const ttl = 300;

  async function holder() {
    const server = new Server();
    let delay = 1;
    const { network, mutex } = connect(server, 'holder', { ttl }, () => delay);
    const locked = mutex.lock('a');
    await vi.advanceTimersByTimeAsync(50);
    const unplug = (): void => {
      delay = 1e6;
      network.forCommands?.cut();
    };
    return { server, mutex, guard: await locked, unplug };
  }

  test('the session is lost while it is being parked', async () => {
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
});
