/**
 * A cell that measures its subject in its own process: checks that the subject does the work, serves its workloads,
 * then checks for a broken promise that other subjects keep.
 */
import { serveWorkloads } from '../../../harness/sample.js';
import type { Lab, MeasuredCell, Measurement } from '../../../harness/table.js';
import type { Workload } from '../../../harness/workload.js';
import type { VocabularySubject } from '../subject.js';
import { subjectNamed, subjects } from '../subjects/index.js';

export interface InProcess<Form> {
  readonly id: string;
  /** As in `MeasuredCell.sliceMilliseconds`, where a batch takes longer than usual. */
  readonly sliceMilliseconds?: number;
  /** The part of a subject that the cell uses; undefined if the subject lacks it. */
  form(subject: VocabularySubject): Form | undefined;
  /** Throws if the subject does not do the work. Not timed. */
  check?(form: Form, library: unknown): Promise<void>;
  /** Describes a promise that the subject breaks and others keep; undefined if none. Called last. */
  breaks?(form: Form, library: unknown): Promise<string | undefined>;
  /** By measure. */
  readonly workloads: Readonly<Record<string, (form: Form, library: unknown) => Workload>>;
}

/** Of each workload. */
const warmUpMilliseconds = 100;

export function inProcessCell<Form>(cell: InProcess<Form>): MeasuredCell {
  const { id, sliceMilliseconds, form, check, breaks, workloads } = cell;
  const names = subjects.filter((subject) => form(subject) !== undefined).map(({ name }) => name);
  const warmUp = warmUpMilliseconds * Object.keys(workloads).length;

  async function measure(name: string, lab: Lab): Promise<Measurement> {
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
    await serveWorkloads(Object.fromEntries(prepared), lab, warmUp);
    const unequal = await breaks?.(used, library);
    return { ok: true, samples: {}, ...(unequal === undefined ? {} : { note: unequal, unequal }) };
  }

  return {
    id,
    subjects: names,
    expectedMilliseconds: 200 + warmUp,
    measure,
    ...(sliceMilliseconds === undefined ? {} : { sliceMilliseconds }),
  };
}

export function missingOf({ missing }: VocabularySubject): Measurement | undefined {
  const note = missing?.();
  return note === undefined ? undefined : { ok: false, note, unavailable: true, samples: {} };
}
