// Requires each entry without further packages: `require` loads modules from Node 20.19 on.
const assert = require('node:assert/strict');

for (const entry of ['', '/bridge', '/diagnostics', '/pool', '/redis']) {
  assert.notEqual(Object.keys(require(`pointsman${entry}`)).length, 0, entry);
}

const { Semaphore } = require('pointsman');
assert.equal(new Semaphore(2).available, 2);
