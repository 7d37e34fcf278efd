/** The entry in a page, where there are threads: lines go to the server that the page came from. */
import { run } from './run.js';

let told: Promise<unknown> = Promise.resolve();

/** One after the other, so that they arrive in order. */
function report(line: string): void {
  const body = line;
  told = told.then(() => fetch('/line', { method: 'POST', body }));
}

console.log = (...values) => report(values.join(' '));
await run(report);
