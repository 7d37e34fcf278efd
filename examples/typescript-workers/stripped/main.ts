/** The names end in `.ts`, and the syntax is erasable: runtimes that strip types need nothing else. */
import { Worker } from 'node:worker_threads';
import { expose } from 'pointsman/bridge';
import { Pool } from 'pointsman/pool';

const pool = new Pool<typeof import('./greetings.ts')>({
  module: new URL('./greetings.ts', import.meta.url),
});
console.log(await pool.run('greet', ['ann']));
await pool.shutdown();

const api = {
  double: (n: number): number => n * 2,
  print: (text: string): void => console.log(text),
};
export type Api = typeof api;
const worker = new Worker(new URL('./asking.ts', import.meta.url));
await expose(worker, api).ended;
