/** An answer and a message that cross on their way, on two connections: the real client over a server in memory. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Network, Server } from '../../../tests/redis/model/memory.js';
import { watch } from '../../../tests/redis/scene.js';
import { Connections } from '../connections.js';
import { RedisMutex } from '../redis-mutex.js';
import { processOf, sessionOf } from './protocol.js';
import { signMessage } from './wire.js';

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

// Without a heartbeat during the test, which would find whatever was overlooked.
const ttl = 60_000;

test('a grant that is told before the answer that it waits: the request is not left waiting', async () => {
  const server = new Server();
  const process = (name: string, delay: () => number) =>
    new RedisMutex(new Connections(new Network(server, delay, () => 0.9)) as never, {
      ttl,
      name,
      mode: 'strict',
      namespace: 'n',
    });
  const holder = process('holder', () => 1);
  const held = holder.lock('k');
  await vi.advanceTimersByTimeAsync(50);
  // Whatever the server says while the request waits takes long, whatever it says then is fast.
  const other = process('other', () => (server.state.requests.size > 0 ? 20 : 1));
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
  const process = (name: string) =>
    new RedisMutex(
      new Connections(
        new Network(
          server,
          () => 1,
          () => 0.9,
        ),
      ) as never,
      { ttl, name, mode: 'strict', namespace: 'n' },
    );
  const [holder, other] = [process('holder'), process('other')];
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
