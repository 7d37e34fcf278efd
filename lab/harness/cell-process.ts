/**
 * The process of one cell: `node cell-process.js <table module> <cell> <subject> <budget> <measures>`.
 *
 * Invariant: prints one line of JSON, a Measurement, as its last line; and ends only after the
 * processes that it started, so that all the processor time it caused counts as the lab's own.
 */
import { Console } from 'node:console';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { quantileSorted } from 'simple-statistics';
import type { Budget, Measurement, Table } from './table.js';
import { cellOf } from './tables.js';

const mostSamples = 201;
const farewellMilliseconds = 2000;

const [module = '', cellId = '', subject = '', budget = '{}', wanted = '[]'] =
  process.argv.slice(2);
// The last line of standard output is the result; output of subjects goes to standard error.
globalThis.console = new Console(process.stderr, process.stderr);

const measurement = await measure(module, cellId, subject, JSON.parse(budget), JSON.parse(wanted));
await childrenToEnd();
process.stdout.write(`\n${JSON.stringify(measurement)}\n`, () => process.exit(0));

async function measure(
  module: string,
  cellId: string,
  subject: string,
  budget: Budget,
  wanted: readonly string[],
): Promise<Measurement> {
  try {
    const table: Table = (await import(pathToFileURL(module).href)).default;
    const cell = cellOf(table, cellId);
    if (!('measure' in cell)) throw new Error(`${cellId} is measured by a program of its own`);
    const found = await cell.measure(subject, budget, (measure) => wanted.includes(measure));
    const samples = Object.entries(found.samples).map(([name, all]) => [name, thin(all)]);
    return { ...found, samples: Object.fromEntries(samples) };
  } catch (error) {
    return { ok: false, note: error instanceof Error ? error.message : String(error), samples: {} };
  }
}

/** Returns few samples in order, and many as quantiles, which keep the median and both ends. */
function thin(samples: readonly number[]): number[] {
  const sorted = [...samples].sort((a, b) => a - b);
  const kept =
    samples.length <= mostSamples
      ? samples
      : Array.from({ length: mostSamples }, (_, index) =>
          quantileSorted(sorted, index / (mostSamples - 1)),
        );
  return kept.map((sample) => Number(sample.toPrecision(6)));
}

async function childrenToEnd(): Promise<void> {
  const until = performance.now() + farewellMilliseconds;
  while (process.getActiveResourcesInfo().includes('ProcessWrap') && performance.now() < until) {
    await pause(5);
  }
}
