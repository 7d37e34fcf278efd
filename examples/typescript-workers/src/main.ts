/** The names end in `.js`, as after a build. tsx finds the `.ts` files, also for URLs of threads. */
import { Worker } from 'node:worker_threads';
import { expose } from 'pointsman/bridge';
import { Pool } from 'pointsman/pool';

const pool = new Pool<typeof import('./greetings.js')>({
  module: new URL('./greetings.js', import.meta.url),
});
console.log(await pool.run('greet', ['ann']));
await pool.shutdown();

const api = {
  double: (n: number): number => n * 2,
  print: (text: string): void => console.log(text),
};
export type Api = typeof api;
const worker = new Worker(new URL('./asking.js', import.meta.url));
await expose(worker, api).ended;
