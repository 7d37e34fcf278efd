import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectIoredis } from '../../../harness/redis-clients.js';
import { defineSubject } from '../subject.js';

const duration = 10_000;
const pollMilliseconds = 2;

/** Deletes the key only if it still has this token. */
export const releaseScript = `
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0`;

/** A common hand-written lock: the pattern in the documentation of the command SET. */
export default defineSubject({
  name: 'hand-made SET NX PX',
  role: 'peer',
  note: 'A poll every 2 ms, and a script that deletes the key if it is still ours; several keys one after the other, sorted.',
  async connect(address) {
    const redis = await connectIoredis(address);
    const sha = String(await redis.script('LOAD', releaseScript));

    async function lockOne(key: string, token: string): Promise<void> {
      while ((await redis.set(key, token, 'PX', duration, 'NX')) === null) {
        await sleep(pollMilliseconds);
      }
    }

    return {
      async lock(keys) {
        const token = randomUUID();
        const sorted = keys.toSorted();
        for (const key of sorted) await lockOne(key, token);
        return { sorted, token };
      },
      unlock: ({ sorted, token }) =>
        Promise.all(sorted.map((key) => redis.evalsha(sha, 1, key, token))),
      close: async () => redis.disconnect(),
    };
  },
});
