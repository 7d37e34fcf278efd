// Imports each entry without further packages, and runs one task in this thread and one in a pool.
import assert from 'node:assert/strict';
import { KeyedMutex, Semaphore } from 'pointsman';
import { connect, expose } from 'pointsman/bridge';
import { snapshot } from 'pointsman/diagnostics';
import { inline, Pool } from 'pointsman/pool';
import { redis } from 'pointsman/redis';
import { SharedMutex } from 'pointsman/shared';

for (const imported of [KeyedMutex, connect, expose, snapshot, redis, SharedMutex]) {
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
