/**
 * A cell that measures its subject in its own process: checks its promises, times its workloads, then checks for a
 * broken promise that other subjects keep.
 */
import { sample } from '../../../harness/sample.js';
import type { Budget, Cell, Measurement } from '../../../harness/table.js';
import type { Workload } from '../../../harness/workload.js';
import type { VocabularySubject } from '../subject.js';
import { subjectNamed, subjects } from '../subjects/index.js';

export interface InProcess<Form> {
  readonly id: string;
  /** The multiple of the usual budget that its samples need. */
  readonly longer?: number;
  /** The part of a subject that the cell uses; undefined if the subject lacks it. */
  form(subject: VocabularySubject): Form | undefined;
  /** Throws if the subject does not do the work; not timed. */
  check?(form: Form, library: unknown): Promise<void>;
  /** Describes a promise that it breaks and others keep, if any; called last. */
  breaks?(form: Form, library: unknown): Promise<string | undefined>;
  /** By measure. The workloads share the budget. */
  readonly workloads: Readonly<Record<string, (form: Form, library: unknown) => Workload>>;
}

/** The budget of a cell in a run that is not thorough. */
const usualMilliseconds = 200;

export function inProcessCell<Form>(cell: InProcess<Form>): Cell {
  const { id, longer = 1, form, check, breaks, workloads } = cell;
  const names = subjects.filter((subject) => form(subject) !== undefined).map(({ name }) => name);

  async function measure(name: string, budget: Budget): Promise<Measurement> {
    const subject = subjectNamed(name);
    const used = form(subject);
    if (used === undefined)
      throw new Error(`cell ${id}: ${name} lacks a form or feature that it needs`);
    const missing = missingOf(subject);
    if (missing) return missing;
    const library = await subject.load();
    await check?.(used, library);
    const prepared = Object.entries(workloads).map(([measure, prepare]) => [
      measure,
      prepare(used, library),
    ]);
    const samples = await sample(Object.fromEntries(prepared), {
      warmupMilliseconds: budget.warmupMilliseconds * longer,
      measureMilliseconds: budget.measureMilliseconds * longer,
    });
    const unequal = await breaks?.(used, library);
    return { ok: true, samples, ...(unequal === undefined ? {} : { note: unequal, unequal }) };
  }

  return { id, subjects: names, expectedMilliseconds: (longer - 1) * usualMilliseconds, measure };
}

export function missingOf({ missing }: VocabularySubject): Measurement | undefined {
  const note = missing?.();
  return note === undefined ? undefined : { ok: false, note, unavailable: true, samples: {} };
}
