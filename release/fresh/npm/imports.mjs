// Imports each entry without further packages, and runs one task in this thread and one in a pool.
import assert from 'node:assert/strict';
import { KeyedMutex, Semaphore } from 'pointsman';
import { connect, expose } from 'pointsman/bridge';
import { snapshot } from 'pointsman/diagnostics';
import { rateLimitFetch } from 'pointsman/http';
import { inline, Pool } from 'pointsman/pool';
import { redis } from 'pointsman/redis';
import { SharedMutex } from 'pointsman/shared';

const functions = [KeyedMutex, connect, expose, rateLimitFetch, snapshot, redis, SharedMutex];
for (const imported of functions) {
  assert.equal(typeof imported, 'function');
}

const semaphore = new Semaphore(1);
assert.equal(await semaphore.run(() => semaphore.available), 0);
assert.equal(semaphore.available, 1);

const pool = new Pool({ module: new URL('./words.mjs', import.meta.url), threads: 1 });
assert.equal(await pool.run('longest', ['not to be']), 'not');
assert.equal(
  await pool.run(
    inline((number) => number * number),
    [3],
  ),
  9,
);
await pool.close();
