import { Limiter } from 'pointsman';
import { Pool } from 'pointsman/pool';

// One at a time, and at most ten in any second.
const limiter = new Limiter({ concurrency: 1, rate: { limit: 10, per: 1_000 } });
const squares = await Promise.all([1, 2, 3].map((n) => limiter.run(async () => n * n)));

await using pool = new Pool<typeof import('./words.js')>({
  worker: () => new Worker('words.js', { type: 'module' }),
});
const longest = await pool.run('longest', ['not to be']);

const result = document.querySelector('#result');
if (result) result.textContent = `longest: ${longest}; squares: ${squares.join(', ')}`;
