/**
 * The table `runtime`: the published benchmark of two asynchronous runtimes for Rust, and what it leaves out: each
 * runtime's own channels, a worker per core, part load, the cost of an idle runtime, and that of diagnostics.
 */
import type { Table } from '../../harness/table.js';
import { beyondTheDocument } from './beyond.js';
import { costOfDiagnostics } from './diagnostics.js';
import { inForm, processorMeasure } from './forms.js';
import { cellVersions, programs } from './programs.js';
import { floors, plain, runtimes } from './subjects.js';
import { tests } from './suites.js';

const measured = [
  ...tests.map((test) => inForm('published', test)),
  ...beyondTheDocument,
  ...tests.filter(({ isOnlyPublished }) => !isOnlyPublished).map((test) => inForm('native', test)),
  ...costOfDiagnostics,
];
const rows = measured.flatMap(({ rows }) => rows);

const table: Table = {
  table: 'runtime',
  title: 'An async runtime for Rust',
  headline: {
    ours: "Pointsman's runtime",
    where: `over the ${tests.length} tests of Nio's benchmarks`,
    isMean: true,
    work: "Nio's benchmarks of an async runtime, in Rust",
  },
  document: {
    title: "Nio's benchmarks: Nio and Tokio on Windows 11, Ryzen 7 5700 (8 cores, 16 threads)",
    source: 'https://github.com/nurmohammed840/nio/tree/main/benchmarks',
    layout: 'line per test',
  },
  subjects: [...runtimes, plain, ...floors],
  headlineCells: tests.length,
  cells: measured.map(({ cell }) => cell),
  rows: [
    ...rows.filter(({ measure }) => measure !== processorMeasure),
    ...rows.filter(({ measure }) => measure === processorMeasure),
  ],
  get otherVersions() {
    return cellVersions();
  },
  programs,
};

export default table;
