import { randomUUID } from 'node:crypto';
import { connectIoredis } from '../../../harness/redis-clients.js';
import { defineSubject } from '../subject.js';

/** Longer than any run, as in the document. */
const expiryMilliseconds = 10_000_000;

/** Takes all keys or none. Returns the shortest remaining lifetime of the keys that are taken. */
const lockScript = `
local pairs = {}
for index, key in ipairs(KEYS) do
  pairs[2 * index - 1] = key
  pairs[2 * index] = ARGV[1]
end
if redis.call('msetnx', unpack(pairs)) == 1 then
  for _, key in ipairs(KEYS) do redis.call('pexpireat', key, ARGV[2]) end
  return false
end
local shortest
for _, key in ipairs(KEYS) do
  local left = redis.call('pttl', key)
  if left >= 0 and (not shortest or left < shortest) then shortest = left end
end
return shortest or 0`;

const unlockScript = `
local ours = {}
for _, key in ipairs(KEYS) do
  if redis.call('get', key) == ARGV[1] then ours[#ours + 1] = key end
end
if #ours > 0 then
  redis.call('del', unpack(ours))
  redis.call('publish', ARGV[2], cjson.encode(ours))
end
return #ours`;

/** A request for keys, from its first attempt to its last. */
interface Waiter {
  /** Whether a key was released since the current attempt began. */
  isCalled: boolean;
  wake: () => void;
}

/**
 * The algorithm of the published document's own library in TypeScript: MSETNX takes all keys at once, and each unlock
 * publishes its keys on one channel. For each key the process wakes its first waiter, which tries again and may fail.
 */
export default defineSubject({
  name: 'the published algorithm',
  role: 'peer',
  note: "redis-em-mutex's script handler in TypeScript: MSETNX and PEXPIREAT in a script, one channel, the first waiter of each key tries again.",
  async connect(address, namespace) {
    const channel = `${namespace}:unlocked`;
    const redis = await connectIoredis(address);
    const subscriber = await connectIoredis(address);
    const [lockSha, unlockSha] = await Promise.all(
      [lockScript, unlockScript].map(async (text) => String(await redis.script('LOAD', text))),
    );
    if (lockSha === undefined || unlockSha === undefined) throw new Error('a script is not loaded');
    const machine = randomUUID();
    const asking = new Map<string, Waiter[]>();
    let owners = 0;

    subscriber.on('message', (_, message: string) => {
      const keys: string[] = JSON.parse(message);
      for (const waiter of new Set(keys.flatMap((key) => asking.get(key)?.[0] ?? []))) {
        waiter.isCalled = true;
        waiter.wake();
      }
    });
    await subscriber.subscribe(channel);

    function join(keys: readonly string[], waiter: Waiter): void {
      for (const key of keys) {
        const queue = asking.get(key);
        if (queue) queue.push(waiter);
        else asking.set(key, [waiter]);
      }
    }

    function leave(keys: readonly string[], waiter: Waiter): void {
      for (const key of keys) {
        const queue = asking.get(key);
        queue?.splice(queue.indexOf(waiter), 1);
        if (queue?.length === 0) asking.delete(key);
      }
    }

    /** Resolves when a key was released, or when a holder's lock has expired. */
    function wait(waiter: Waiter, milliseconds: number): Promise<void> {
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        waiter.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }

    return {
      async lock(keys) {
        const owner = `${machine}$${process.pid}@${owners++}`;
        const waiter: Waiter = { isCalled: false, wake: () => {} };
        join(keys, waiter);
        for (;;) {
          waiter.isCalled = false;
          const expiresAt = Date.now() + expiryMilliseconds;
          const left = await redis.evalsha(lockSha, keys.length, ...keys, owner, expiresAt);
          if (left === null) break;
          if (!waiter.isCalled) await wait(waiter, Number(left) + 1);
        }
        leave(keys, waiter);
        return { keys, owner };
      },
      unlock: ({ keys, owner }) => redis.evalsha(unlockSha, keys.length, ...keys, owner, channel),
      async close() {
        redis.disconnect();
        subscriber.disconnect();
      },
    };
  },
});
