/** The entry for runtimes with a console: Node, Bun and Deno. */
import { run } from './run.js';

await run(console.log);
