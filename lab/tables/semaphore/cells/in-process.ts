/**
 * A cell that measures its subject in its own process: checks mutual exclusion, times its workloads, then checks
 * whether callers kept their async context.
 */

import { keepsContext, lostContext } from '../../../harness/context.js';
import { sample } from '../../../harness/sample.js';
import type { Budget, Cell, Measurement } from '../../../harness/table.js';
import type { Workload } from '../../../harness/workload.js';
import type { SemaphoreSubject } from '../subject.js';
import { subjectNamed, subjects } from '../subjects/index.js';
import { checkExclusion, type Enter } from './checks.js';

export interface InProcess<Form> {
  readonly id: string;
  /** As in `MeasuredCell.runtime`. */
  readonly runtime?: string;
  readonly limit: number;
  /** The multiple of the usual budget that its samples need. */
  readonly longer?: number;
  /** The floor of this cell's rows. */
  readonly floor: SemaphoreSubject;
  /** The part of a subject that the cell uses; undefined if the subject lacks it. */
  form(subject: SemaphoreSubject): Form | undefined;
  enter(form: Form, library: unknown, limit: number): Enter;
  /** By measure. The workloads share the budget. */
  readonly workloads: Readonly<
    Record<string, (form: Form, library: unknown, budget: Budget) => Workload>
  >;
}

/** The budget of a cell in a run that is not thorough. */
const usualMilliseconds = 200;

export function inProcessCell<Form>(cell: InProcess<Form>): Cell {
  const { id, runtime, limit, longer = 1, floor, form, enter, workloads } = cell;
  const contenders = subjects.filter((subject) => subject.role !== 'floor' && form(subject));

  async function measure(name: string, budget: Budget): Promise<Measurement> {
    const subject = subjectNamed(name);
    const used = form(subject);
    if (used === undefined)
      throw new Error(`cell ${id}: ${name} lacks a form or feature that it needs`);
    const library = await subject.load();
    if (subject !== floor) await checkExclusion(enter(used, library, limit), limit);
    const prepared = Object.entries(workloads).map(([measure, prepare]) => [
      measure,
      prepare(used, library, budget),
    ]);
    const samples = await sample(Object.fromEntries(prepared), {
      warmupMilliseconds: budget.warmupMilliseconds * longer,
      measureMilliseconds: budget.measureMilliseconds * longer,
    });
    if (subject === floor || (await keepsContext(enter(used, library, 1)))) {
      return { ok: true, samples };
    }
    return { ok: true, samples, note: lostContext, unequal: lostContext };
  }

  const names = [...contenders, floor].map((subject) => subject.name);
  const expectedMilliseconds = (longer - 1) * usualMilliseconds;
  const elsewhere = runtime === undefined ? {} : { runtime };
  return { id, subjects: names, expectedMilliseconds, measure, ...elsewhere };
}
