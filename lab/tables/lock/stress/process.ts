/** One process of the stress test: visits all keys in an order of its own, and reports each visit. */
import { setTimeout as sleep } from 'node:timers/promises';
import { TimeoutError } from 'pointsman';
import { redis } from 'pointsman/redis';
import { SharedMutex } from 'pointsman/shared';
import { shuffle } from 'simple-statistics';
import { connectIoredis } from '../../../harness/redis-clients.js';
import type { Address } from '../../../harness/redis-server.js';

export interface Orders {
  readonly address: Address;
  readonly tries: number;
  readonly sleepMilliseconds: number;
  readonly keys: number;
}

export interface Report {
  readonly succeeded: number;
  readonly failures: number;
  /** Keys that it never locked. */
  readonly givenUp: number;
}

const { address, tries, sleepMilliseconds, keys }: Orders = JSON.parse(process.argv[2] ?? '');
const client = await connectIoredis(address);
const mutex = new SharedMutex(redis(client, { ttl: 2 * sleepMilliseconds }));
const left = shuffle(Array.from({ length: keys }, (_, index) => `stress:${index}`)).map((key) => ({
  key,
  failures: 0,
}));
const report = { succeeded: 0, failures: 0, givenUp: 0 };

for (let next = left.shift(); next; next = left.shift()) {
  if (await visited(next.key)) {
    report.succeeded += 1;
  } else {
    report.failures += 1;
    next.failures += 1;
    if (next.failures < tries) left.push(next);
    else report.givenUp += 1;
  }
  process.send?.(report);
}
await mutex.close();
client.disconnect();
process.disconnect?.();

/** Returns false if the lock was not granted in time. */
async function visited(key: string): Promise<boolean> {
  try {
    const guard = await mutex.lock(key, { timeout: sleepMilliseconds });
    await holdAndCheck(`${key}:widget`);
    await guard.release();
    return true;
  } catch (error) {
    if (error instanceof TimeoutError) return false;
    throw error;
  }
}

async function holdAndCheck(widget: string): Promise<void> {
  const value = String(Math.random());
  await client.set(widget, value);
  await sleep(sleepMilliseconds);
  const found = await client.get(widget);
  if (found !== value) throw new Error(`Value mismatch: ${widget} is ${found}, expected ${value}`);
}
