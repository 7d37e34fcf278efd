/**
 * The page fetches texts, two at a time and ten a second, has threads find the longest word of each, and a worker ask it
 * which of these words is the widest.
 *
 * Type `npm install` and `npx vite`; `npx vite build` and `npx vite preview` for a production build.
 */
import { Limiter } from 'pointsman';
import { type ApiOf, expose } from 'pointsman/bridge';
import { Pool } from 'pointsman/pool';
import type { Functions } from './words';

const limiter = new Limiter({ concurrency: 2, rate: { limit: 10, per: 1_000 } });
const pool = new Pool<Functions>({
  worker: () => new Worker(new URL('./words.ts', import.meta.url), { type: 'module' }),
});

const longest = await Promise.all(
  [1, 2, 3].map(async (number) => {
    const text = await limiter.run(async () => (await fetch(`texts/${number}.txt`)).text());
    return pool.run('longest', [text]);
  }),
);
await pool.shutdown();

const canvas = document.createElement('canvas').getContext('2d');
const layout = new Worker(new URL('./layout.ts', import.meta.url), { type: 'module' });
const bridge = expose(layout, {
  words: () => longest,
  width: (word: string) => canvas?.measureText(word).width ?? 0,
  show: (text: string) => {
    const result = document.querySelector('#result');
    if (result) result.textContent = text;
  },
});
export type Api = ApiOf<typeof bridge>;
