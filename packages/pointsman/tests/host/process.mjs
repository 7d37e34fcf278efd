/** A process that uses a mutex and limiters on the store of one machine, as its parent tells it. */
import { existsSync } from 'node:fs';
import { host } from 'pointsman/host';
import { SharedLimiter, SharedMutex } from 'pointsman/shared';

const { namespace, mode, ...options } = JSON.parse(process.argv[2]);
const store = host(namespace, options);
const mutex = new SharedMutex(store, { mode });
const guards = new Map();

const calls = {
  async lock(keys, terms) {
    const guard = await mutex.lock(keys, terms);
    guards.set(String(keys), guard);
    return guard.token;
  },
  release: (keys) => guards.get(String(keys)).release(),
  valid: (keys) => guards.get(String(keys)).valid,
  query: () => mutex.query(),
  /** Locks and releases again and again, until the time is over. Returns the number of sections. */
  async work(keys, milliseconds) {
    let sections = 0;
    for (const until = performance.now() + milliseconds; performance.now() < until; sections++) {
      await mutex.run(keys, () => {});
    }
    return sections;
  },
  /** Requests that many starts of a limiter at once. Returns how many started. */
  async starts(options, requests) {
    const limiter = new SharedLimiter(store, 'api', options);
    const tries = Array.from({ length: requests }, () => limiter.tryAcquire());
    return (await Promise.all(tries)).filter((permit) => permit !== undefined).length;
  },
  /** Blocks the event loop until the file exists. */
  block(file) {
    // After the reply, and before the next call.
    setImmediate(() => {
      while (!existsSync(file));
    });
  },
  close: () => store.close(),
};

process.on('message', async ({ number, name, values }) => {
  try {
    process.send({ number, value: await calls[name](...values) });
  } catch (error) {
    process.send({ number, error: `${error.name}: ${error.message}` });
  }
});
process.on('disconnect', () => process.exit());
process.send({ number: 0 });
