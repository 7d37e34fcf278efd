/**
 * The floor of a row: the one that it names, or the nearest.
 */
import type { RowOutcome, SubjectOutcome } from './outcome.js';
import type { Row, Subject } from './table.js';

export interface NearestFloor {
  readonly floor: SubjectOutcome;
  readonly median: number;
  /** 1 when ours costs what the floor costs. */
  readonly share: number;
}

/** Returns whether ours is compared with this floor. */
export function counts(row: Row, floor: Subject): boolean {
  return row.floor === undefined || row.floor === floor.name;
}

export function nearestFloor({ row, subjects, ours }: RowOutcome): NearestFloor | undefined {
  const mine = ours?.value?.median;
  if (mine === undefined) return undefined;
  return subjects
    .flatMap((floor) => {
      if (!counts(row, floor.subject)) return [];
      const median = floor.subject.role === 'floor' ? floor.value?.median : undefined;
      if (median === undefined) return [];
      return [{ floor, median, share: row.better === 'higher' ? mine / median : median / mine }];
    })
    .sort((a, b) => b.share - a.share)[0];
}
