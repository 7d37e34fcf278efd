/**
 * The page fetches texts, two at a time and ten a second, has threads find the longest word of each, and a worker ask it
 * which of these words is the widest.
 *
 * Type `npm install` and `npm run build`, and serve the folder `public`. esbuild does not find workers: their scripts
 * are separate entry points.
 */
import { Limiter } from 'pointsman';
import { type ApiOf, expose } from 'pointsman/bridge';
import { Pool } from 'pointsman/pool';
import type { Functions } from './words';

const limiter = new Limiter({ concurrency: 2, rate: { limit: 10, per: 1_000 } });
const pool = new Pool<Functions>({
  worker: () => new Worker('dist/words.js', { type: 'module' }),
});

const longest = await Promise.all(
  [1, 2, 3].map(async (number) => {
    const text = await limiter.run(async () => (await fetch(`texts/${number}.txt`)).text());
    return pool.run('longest', [text]);
  }),
);
await pool.shutdown();

const canvas = document.createElement('canvas').getContext('2d');
const layout = new Worker('dist/layout.js', { type: 'module' });
const bridge = expose(layout, {
  words: () => longest,
  width: (word: string) => canvas?.measureText(word).width ?? 0,
  show: (text: string) => {
    const result = document.querySelector('#result');
    if (result) result.textContent = text;
  },
});
export type Api = ApiOf<typeof bridge>;
