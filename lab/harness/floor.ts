/**
 * The floor that counts for a row: of all floors the nearest, since no subject can pass any.
 */
import type { RowOutcome, SubjectOutcome } from './outcome.js';

export interface NearestFloor {
  readonly floor: SubjectOutcome;
  readonly median: number;
  /** 1 when ours costs what the floor costs. */
  readonly share: number;
}

export function nearestFloor({ row, subjects, ours }: RowOutcome): NearestFloor | undefined {
  const mine = ours?.value?.median;
  if (mine === undefined) return undefined;
  return subjects
    .flatMap((floor) => {
      const median = floor.subject.role === 'floor' ? floor.value?.median : undefined;
      if (median === undefined) return [];
      return [{ floor, median, share: row.better === 'higher' ? mine / median : median / mine }];
    })
    .sort((a, b) => b.share - a.share)[0];
}
