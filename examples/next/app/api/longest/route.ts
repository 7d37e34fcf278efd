/** On the server: a thread finds the longest word of a text, for two requests at once and ten a second. */
import { Worker } from 'node:worker_threads';
import { Limiter } from 'pointsman';
import { Pool } from 'pointsman/pool';
import type { Functions } from '../../../workers/words';

const limiter = new Limiter({ concurrency: 2, rate: { limit: 10, per: 1_000 } });
const pool = new Pool<Functions>({
  worker: () => new Worker(new URL('../../../workers/words.ts', import.meta.url)),
});

export async function POST(request: Request) {
  const text = await request.text();
  const word = await limiter.run(() => pool.run('longest', [text], { signal: request.signal }));
  return new Response(word);
}
