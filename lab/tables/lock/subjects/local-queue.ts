import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Mutex, MutexInterface } from 'async-mutex';
import { connectIoredis } from '../../../harness/redis-clients.js';
import { defineSubject } from '../subject.js';
import { releaseScript } from './hand-made.js';

const duration = 10_000;
const pollMilliseconds = 2;
/** The tasks of this process keep a key among themselves for this time before another process may have it. */
const keepMilliseconds = 5;

/** A key: its queue in this process, and the token of its lock while this process holds that on the server. */
interface Key {
  readonly name: string;
  readonly mutex: Mutex;
  token: string | undefined;
  keepUntil: number;
}

export default defineSubject({
  name: 'async-mutex before SET NX PX',
  role: 'peer',
  package: 'async-mutex',
  note: 'A hand-written sketch: async-mutex queues the tasks of the process for each key, and the process keeps its locks on the server for 5 ms while any of them wait. No renewal, no order among processes, no signal of a lost lock; several keys one after the other, sorted.',
  async connect(address) {
    const { Mutex } = await import('async-mutex');
    const redis = await connectIoredis(address);
    const sha = String(await redis.script('LOAD', releaseScript));
    const keys = new Map<string, Key>();
    let waiting = 0;
    let timer: NodeJS.Timeout | undefined;

    function keyNamed(name: string): Key {
      const found = keys.get(name) ?? { name, mutex: new Mutex(), token: undefined, keepUntil: 0 };
      keys.set(name, found);
      return found;
    }

    async function lockOnServer(key: Key): Promise<void> {
      const token = randomUUID();
      while ((await redis.set(key.name, token, 'PX', duration, 'NX')) === null) {
        await sleep(pollMilliseconds);
      }
      key.token = token;
      key.keepUntil = performance.now() + keepMilliseconds;
    }

    /** The caller must hold the key's mutex. */
    async function unlockOnServer(key: Key): Promise<void> {
      const { token } = key;
      if (token === undefined || (waiting > 0 && performance.now() < key.keepUntil)) return;
      key.token = undefined;
      await redis.evalsha(sha, 1, key.name, token);
    }

    /** Unlocks the keys that no task holds, because another process may wait for them; repeats until none is left. */
    async function sweep(): Promise<void> {
      clearTimeout(timer);
      timer = undefined;
      const idle = [...keys.values()].filter(({ token, mutex }) => token && !mutex.isLocked());
      await Promise.all(idle.map((key) => key.mutex.runExclusive(() => unlockOnServer(key))));
      if (idle.length > 0) timer ??= setTimeout(sweep, keepMilliseconds);
    }

    return {
      async lock(names) {
        const held: { readonly key: Key; readonly leave: MutexInterface.Releaser }[] = [];
        waiting += 1;
        // Sorted, because two tasks that lock the same keys in different orders could deadlock.
        for (const name of names.toSorted()) {
          const key = keyNamed(name);
          const leave = await key.mutex.acquire();
          held.push({ key, leave });
          if (key.token === undefined) await lockOnServer(key);
        }
        waiting -= 1;
        return held;
      },
      async unlock(held) {
        await Promise.all(
          held.map(async ({ key, leave }) => {
            await unlockOnServer(key);
            leave();
          }),
        );
        if (waiting === 0) await sweep();
        else timer ??= setTimeout(sweep, keepMilliseconds);
      },
      close: async () => redis.disconnect(),
    };
  },
});
