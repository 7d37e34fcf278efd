/**
 * Runs the tests in runtimes other than the Node that runs this:
 *
 *     node dist/run.js                    workerd and chromium
 *     node dist/run.js --all              and Firefox, WebKit and every runtime of all/package.json
 *     node dist/run.js workerd deno       just these
 *
 * One line per runtime, then its failures in full. Ends with 1 when a test failed, when no test
 * ran, or when a runtime that was asked for by name is missing.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { browsers } from './browsers.js';
import { bundleTests } from './bundle.js';
import { extraRuntimes, install } from './extra.js';
import { type Outcome, outcomeMark, startedMark } from './outcome.js';
import type { Runtime } from './runtime.js';
import { explainer } from './stack.js';
import { workerd } from './workerd.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean', default: false } },
});
const { chromium, firefox, webkit } = browsers;
const usual = [workerd, chromium];
const known = [...usual, firefox, webkit, ...extraRuntimes];
const unknown = positionals.filter((name) => !known.some((runtime) => runtime.name === name));
if (unknown.length > 0) {
  const names = known.map((runtime) => runtime.name).join(', ');
  throw new Error(`unknown runtime ${unknown.join(', ')}; expected some of ${names}`);
}
let chosen = values.all ? known : usual;
if (positionals.length > 0) {
  chosen = known.filter((runtime) => positionals.includes(runtime.name));
}
if (chosen.some((runtime) => extraRuntimes.includes(runtime))) install();

const folder = await mkdtemp(join(tmpdir(), 'pointsman-tests-'));
try {
  // Runtimes with different bundles run concurrently, because workerd has only one thread.
  const entries = [...new Set(chosen.map(({ entry }) => entry))].map(async (entry) => {
    // A folder of its own, because the scripts of threads differ too.
    const bundle = join(folder, entry, 'tests.mjs');
    await bundleTests(entry, bundle);
    for (const runtime of chosen) {
      if (runtime.entry === entry && !(await runIn(runtime, bundle))) process.exitCode = 1;
    }
  });
  await Promise.all(entries);
} finally {
  await rm(folder, { recursive: true });
}

async function runIn(runtime: Runtime, bundle: string): Promise<boolean> {
  const place = runtime.find();
  if ('missing' in place) {
    console.log(`${runtime.name}: skipped, ${place.missing}`);
    return !positionals.includes(runtime.name);
  }
  let outcome: Outcome | undefined;
  let test = 'the first test';
  try {
    const version = await runtime.run(place.path, bundle, (line) => {
      if (line.startsWith(startedMark)) test = line.slice(startedMark.length);
      else if (line.startsWith(outcomeMark)) outcome = JSON.parse(line.slice(outcomeMark.length));
      else console.log(`  ${runtime.name}: ${line}`);
    });
    if (!outcome) {
      console.log(`${runtime.name} ${version}: ended in the middle of a test: ${test}`);
      return false;
    }
    const { passed, skipped, failures } = outcome;
    const rest = skipped > 0 ? `, ${skipped} skipped` : '';
    console.log(`${runtime.name} ${version}: ${passed} passed, ${failures.length} failed${rest}`);
    const explain = explainer(bundle);
    for (const { name, text } of failures) console.log(`\n  ${name}\n${indent(explain(text))}`);
    return failures.length === 0 && passed > 0;
  } catch (error) {
    console.log(
      `${runtime.name}: could not run, in ${test}\n${indent(String((error as Error).stack))}`,
    );
    return false;
  }
}

function indent(text: string): string {
  return text.replace(/^/gm, '    ');
}
