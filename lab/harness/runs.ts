/**
 * What the rounds of a group say of one subject: its runs, by round, and their samples.
 *
 * Invariant: a round without a run of the subject, or without samples of the measure, is left out.
 */
import { median } from 'simple-statistics';
import type { GroupRound, SubjectRound } from './journal.js';
import { middle, type Turns } from './statistics.js';

export type Runs = ReadonlyMap<number, SubjectRound>;

export function runsOf(
  rounds: readonly GroupRound[],
  name: string | undefined,
  control = false,
): Runs {
  return new Map(
    rounds.flatMap(({ round, subjects }) => {
      const run = subjects.findLast(
        (candidate) =>
          candidate.subject === name && (!candidate.ok || candidate.control === control),
      );
      return run ? [[round, run] as const] : [];
    }),
  );
}

export function failureIn(runs: Runs): SubjectRound | undefined {
  return [...runs.values()].find((run) => !run.ok);
}

export function samplesOf(runs: Runs, measure: string): Map<number, Turns> {
  return new Map(
    [...runs].flatMap(([round, run]) => {
      const samples = run.samples[measure];
      return samples && samples.length > 0 ? [[round, samples] as const] : [];
    }),
  );
}

export function foundSamplesOf(runs: Runs, measure: string): Map<number, readonly number[]> {
  const found = samplesOf(runs, measure);
  return new Map(
    [...found].map(([round, samples]) => [round, samples.filter((sample) => sample !== null)]),
  );
}

export function medianOf(runs: Runs, measure: string): number | null {
  const values = valuesOf(runs, measure);
  return values.length === 0 ? null : median(values);
}

/** The median of each round. */
export function valuesOf(runs: Runs, measure: string): number[] {
  return [...samplesOf(runs, measure).values()].flatMap((samples) => middle(samples) ?? []);
}
