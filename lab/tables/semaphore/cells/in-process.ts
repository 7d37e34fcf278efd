/**
 * A cell that measures its subject in its own process: checks mutual exclusion, serves its workloads, then checks
 * whether callers kept their async context.
 */

import { keepsContext, lostContext } from '../../../harness/context.js';
import { serveWorkloads } from '../../../harness/sample.js';
import type { Lab, MeasuredCell, Measurement } from '../../../harness/table.js';
import type { Workload } from '../../../harness/workload.js';
import type { SemaphoreSubject } from '../subject.js';
import { subjectNamed, subjects } from '../subjects/index.js';
import { checkExclusion, type Enter } from './checks.js';

export interface InProcess<Form> {
  readonly id: string;
  /** As in `MeasuredCell.sliceMilliseconds`, where a batch takes longer than usual. */
  readonly sliceMilliseconds?: number;
  /** As in `MeasuredCell.runtime`. */
  readonly runtime?: string;
  readonly limit: number;
  /** The floor of this cell's rows. */
  readonly floor: SemaphoreSubject;
  /** The part of a subject that the cell uses; undefined if the subject lacks it. */
  form(subject: SemaphoreSubject): Form | undefined;
  enter(form: Form, library: unknown, limit: number): Enter;
  /** The workloads, by measure. */
  readonly workloads: Readonly<Record<string, (form: Form, library: unknown) => Workload>>;
}

/** Of each workload. */
const warmUpMilliseconds = 100;

export function inProcessCell<Form>(cell: InProcess<Form>): MeasuredCell {
  const { id, sliceMilliseconds, runtime, limit, floor, form, enter, workloads } = cell;
  const contenders = subjects.filter((subject) => subject.role !== 'floor' && form(subject));
  const warmUp = warmUpMilliseconds * Object.keys(workloads).length;

  async function measure(name: string, lab: Lab): Promise<Measurement> {
    const subject = subjectNamed(name);
    const used = form(subject);
    if (used === undefined)
      throw new Error(`cell ${id}: ${name} lacks a form or feature that it needs`);
    const library = await subject.load();
    if (subject !== floor) await checkExclusion(enter(used, library, limit), limit);
    const prepared = Object.entries(workloads).map(([measure, prepare]) => [
      measure,
      prepare(used, library),
    ]);
    await serveWorkloads(Object.fromEntries(prepared), lab, warmUp);
    if (subject === floor || (await keepsContext(enter(used, library, 1)))) {
      return { ok: true, samples: {} };
    }
    return { ok: true, samples: {}, note: lostContext, unequal: lostContext };
  }

  const names = [...contenders, floor].map((subject) => subject.name);
  return {
    id,
    subjects: names,
    expectedMilliseconds: 200 + warmUp,
    measure,
    ...(sliceMilliseconds === undefined ? {} : { sliceMilliseconds }),
    ...(runtime === undefined ? {} : { runtime }),
  };
}
