/** The entry in a page: lines go to the console, and there are threads. */
import { run } from './run.js';

await run(console.log);
