/**
 * The process of one cell: `node cell-process.js <table module> <cell> <subject> <measures>`.
 *
 * The protocol, one line of JSON each, which programs of native cells speak too:
 * 1. the process prints `{"slices": [{"name", "condition"}]}` when the subject is warm;
 * 2. the lab writes `{"slice", "milliseconds"}`, and the process prints `{"samples"}` when it has run that slice; this
 *    repeats, one request at a time;
 * 3. the lab closes standard input, and the process prints a Measurement, its last line. A process that fails, or whose
 *    work is not sliced, prints it without that.
 *
 * The process waits up to 2 s for the processes that it started, so that their processor time counts as the lab's own.
 */
import { Console } from 'node:console';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { quantileSorted } from 'simple-statistics';
import type { Lab, Measurement, Slice, Table } from './table.js';
import { cellOf } from './tables.js';

const mostSamples = 201;
const farewellMilliseconds = 2000;

const [module = '', cellId = '', subject = '', wanted = '[]'] = process.argv.slice(2);
const measures: readonly string[] = JSON.parse(wanted);
// Standard output carries the protocol, so the output of subjects goes to standard error.
globalThis.console = new Console(process.stderr, process.stderr);

const lab: Lab = {
  isWanted: (measure) => measures.includes(measure),
  async serve(slices) {
    print({ slices: slices.map(({ name, condition = 'quiet' }) => ({ name, condition })) });
    for await (const line of createInterface({ input: process.stdin })) {
      const { slice, milliseconds } = JSON.parse(line);
      print({ samples: await sliceNamed(slices, slice).run(milliseconds) });
    }
  },
};

const measurement = await measure();
await childrenToEnd();
process.stdout.write(`\n${JSON.stringify(measurement)}\n`, () => process.exit(0));

async function measure(): Promise<Measurement> {
  try {
    const table: Table = (await import(pathToFileURL(module).href)).default;
    const cell = cellOf(table, cellId);
    if (!('measure' in cell)) throw new Error(`${cellId} is measured by a program of its own`);
    const found = await cell.measure(subject, lab);
    const samples = Object.entries(found.samples).map(([name, all]) => [name, thin(all)]);
    return { ...found, samples: Object.fromEntries(samples) };
  } catch (error) {
    return { ok: false, note: error instanceof Error ? error.message : String(error), samples: {} };
  }
}

function sliceNamed(slices: readonly Slice[], name: string): Slice {
  const found = slices.find((slice) => slice.name === name);
  if (!found) throw new Error(`cell ${cellId}: no slice is named ${name}`);
  return found;
}

function print(line: object): void {
  process.stdout.write(`\n${JSON.stringify(line)}\n`);
}

/** Returns up to 201 samples as they are; of more, their quantiles, which keep the median and both ends. */
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
