/**
 * The cells of the document's tests. In the form `published` all runtimes have the same channels. In the form `native`
 * each has its own, is built as its documentation says, and has one worker per core where the document has more than
 * two.
 *
 * Invariant: a cell, its row and its command agree on the test's name.
 */
import type { NativeCell, Row } from '../../harness/table.js';
import { cellOf } from './programs.js';
import { nio, runtimes, tokio } from './subjects.js';
import type { Test } from './suites.js';

export type Form = 'published' | 'native';

export interface Measured {
  readonly cell: NativeCell;
  readonly rows: readonly Row[];
}

/** The processor time of all threads for a turn, in microseconds, which every cell measures beside the elapsed time. */
export const processorMeasure = 'processor';

const titles: Readonly<Record<Form, string>> = {
  published: 'the same channels for all, as published',
  native: "each runtime's own channels, used as its documentation says",
};

export function inForm(form: Form, described: Test): Measured {
  const { suite, test, unit, workers, isOneThread } = described;
  const name = `${suite}/${test}`;
  const row = form === 'published' ? name : `${name}, native`;
  const cell: NativeCell = {
    id: row,
    ...cellOf(form, name, form === 'native' ? described.floor : undefined),
    sliceMilliseconds: 12,
    // Few, because only the mean over all tests must be certain.
    ...(form === 'published' ? { turns: 3 } : {}),
    expectedMilliseconds: 70,
  };
  const onWorkers = workersOf(form, workers);
  const time: Row = {
    row,
    cell: row,
    measure: 'time',
    unit,
    better: 'lower',
    processorTime: processorMeasure,
    ...(isOneThread ? { judgedByProcessorTime: true } : {}),
    about: `${described.about}${onWorkers}`,
    ...(form === 'published'
      ? publishedIn(described)
      : { matrix: matrixOf(`With ${titles.native}`, described) }),
  };
  return { cell, rows: isOneThread ? [time] : [time, processorRow(form, row, described)] };
}

function workersOf(form: Form, workers: number | undefined): string {
  if (workers === undefined) return '';
  return form === 'published' ? ` On ${workers} workers.` : ' On a worker per core.';
}

function matrixOf(title: string, { suite, test, unit }: Pick<Test, 'suite' | 'test' | 'unit'>) {
  return { title, block: `${suite}, ${unit}`, column: test };
}

function publishedIn({ suite, test, published }: Test) {
  return {
    heading: suite,
    column: test,
    ...(published ? { published: { [nio.name]: published[0], [tokio.name]: published[1] } } : {}),
  };
}

function processorRow(form: Form, row: string, { suite, test }: Test): Row {
  return {
    row: `${row}: processor time`,
    cell: row,
    measure: processorMeasure,
    unit: 'µs',
    better: 'lower',
    subjects: runtimes.map(({ name }) => name),
    matrix: matrixOf(`Processor time, with ${titles[form]}`, { suite, test, unit: 'µs' }),
    about: 'The processor time of all threads for the same turn.',
  };
}
