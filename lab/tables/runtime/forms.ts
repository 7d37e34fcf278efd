/**
 * The cells: every test of the document in its forms. As published, all runtimes have the same channels. Natively,
 * each has its own and is built as its documentation says. Tests for which the document has more than two workers run
 * again with a worker per core.
 *
 * Invariant: a cell, its row and its command agree on the test's name.
 */
import type { NativeCell, Row } from '../../harness/table.js';
import { commandOf } from './programs.js';
import { nio, runtimes, tokio } from './subjects.js';
import type { Test } from './suites.js';

export type Form = 'published' | 'native' | 'cores';

export interface FormOfTest {
  readonly cell: NativeCell;
  readonly rows: readonly Row[];
}

/** The share of the time of all cores, which every cell measures beside the elapsed time. */
export const processorMeasure = 'processor';

/** The longest test takes a second; a test that has not ended by then hangs. */
export const limitMilliseconds = 10_000;

const suffixes: Readonly<Record<Form, string>> = {
  published: '',
  native: ', native',
  cores: ', a worker per core',
};

const titles: Readonly<Record<Form, string>> = {
  published: 'the same channels for all, as published',
  native: "each runtime's own channels, used as its documentation says",
  cores: "each runtime's own channels, and a worker for each core",
};

export function inForm(form: Form, described: Test): FormOfTest {
  const { suite, test, unit, workers } = described;
  const name = `${suite}/${test}`;
  const row = `${name}${suffixes[form]}`;
  // One floor is enough for all forms of a test.
  const floor = form === 'published' ? described.floor : undefined;
  const cell: NativeCell = {
    id: row,
    subjects: [...runtimes.map(({ name }) => name), ...(floor ? [floor.subject.name] : [])],
    limitMilliseconds,
    command: (subject, budget) =>
      subject === floor?.subject.name
        ? commandOf(subject, 'floor', floor.test, budget)
        : commandOf(subject, form, name, budget),
  };
  const onWorkers = workers === undefined || form === 'cores' ? '' : ` On ${workers} workers.`;
  const time: Row = {
    row,
    cell: row,
    measure: 'time',
    unit,
    better: 'lower',
    about: `${described.about}${onWorkers}`,
    ...(form === 'published'
      ? publishedIn(described)
      : { matrix: matrixOf(`With ${titles[form]}`, described) }),
  };
  return { cell, rows: [time, processorRow(form, described)] };
}

function matrixOf(title: string, { suite, test, unit }: Test) {
  return { title, block: `${suite}, ${unit}`, column: test };
}

function publishedIn({ suite, test, published }: Test) {
  return {
    heading: suite,
    column: test,
    ...(published ? { published: { [nio.name]: published[0], [tokio.name]: published[1] } } : {}),
  };
}

function processorRow(form: Form, described: Test): Row {
  const { suite, test, unit } = described;
  return {
    row: `${suite}/${test}${suffixes[form]}: processor time`,
    cell: `${suite}/${test}${suffixes[form]}`,
    measure: processorMeasure,
    unit,
    better: 'lower',
    subjects: runtimes.map(({ name }) => name),
    matrix: matrixOf(`Processor time, with ${titles[form]}`, described),
    about: 'The share of the time of all cores, for all threads.',
  };
}
