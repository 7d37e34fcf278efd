/** The entry where lines can go to the console: Node, Bun, Deno and browsers. */
import { run } from './run.js';

await run(console.log);
