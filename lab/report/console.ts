/**
 * A table's outcome as text, for the terminal.
 */
import type { RowOutcome, SubjectOutcome, TableOutcome } from '../harness/outcome.js';
import {
  counted,
  describeInterval,
  describeNumber,
  describeRatio,
  describeRatioInterval,
  describeShare,
} from './format.js';

/** How the rows of a table came out: `14 rows: 9 faster, 4 no difference, 1 slower`. */
export function describeTally({ rows }: TableOutcome): string {
  const verdicts = ['faster', 'no difference', 'slower', 'unknown'] as const;
  const tally = verdicts
    .map((verdict) => ({ verdict, count: rows.filter((row) => row.verdict === verdict).length }))
    .filter(({ count }) => count > 0)
    .map(({ verdict, count }) => `${count} ${verdict}`);
  return `${counted(rows.length, 'row')}: ${tally.join(', ')}`;
}

export function describeRow({ row, subjects, rounds }: RowOutcome): string {
  const width = Math.max(...subjects.map(({ subject }) => subject.name.length));
  const lines = subjects.map((subject) => {
    return `  ${subject.subject.name.padEnd(width)}  ${describeSubject(subject)}`;
  });
  return [
    `${row.row} (${row.unit}, ${row.better} is better; ${counted(rounds, 'round')})`,
    ...lines,
  ].join('\n');
}

function describeSubject(found: SubjectOutcome): string {
  const { subject, ok, unavailable, note, value, ratio, verdict } = found;
  if (unavailable) return note;
  if (!ok || !value) return `failed: ${note}`;
  const figures = `${describeNumber(value.median).padStart(10)}  (${describeInterval(value)})`;
  if (!ratio) return figures;
  if (subject.role === 'floor')
    return `${figures}  ours: ${describeShare(ratio.median)} of this floor`;
  return `${figures}  ours: ${describeRatio(ratio.median)} (${describeRatioInterval(ratio)}), ${verdict}`;
}
