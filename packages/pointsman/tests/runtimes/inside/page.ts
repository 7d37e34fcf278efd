/** The entry in a page, which has threads. Its output goes to the server of the page. */
import { run } from './run.js';

let told: Promise<unknown> = Promise.resolve();

/** Sends lines one after the other, so that they arrive in order. */
function report(line: string): void {
  const body = line;
  told = told.then(() => fetch('/line', { method: 'POST', body }));
}

console.log = (...values) => report(values.join(' '));
await run(report);
