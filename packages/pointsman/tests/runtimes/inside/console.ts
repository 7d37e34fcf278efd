/** The entry where lines can go to the console: Node, Bun and Deno. */
import { run } from './run.js';

await run(console.log);
