// Imports the entry that needs acorn.
import assert from 'node:assert/strict';
import { Pool } from 'pointsman/pool';
import { inline } from 'pointsman/pool/inline';

const pool = new Pool({ threads: 1 });
const square = inline((number) => number * number);
assert.equal(await pool.run(square, [3]), 9);
await pool.close();
