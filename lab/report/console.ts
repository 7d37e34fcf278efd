/**
 * A table's outcome as text, for the terminal.
 */
import type {
  BehavioursOutcome,
  RowOutcome,
  SubjectOutcome,
  TableOutcome,
} from '../harness/outcome.js';
import { repeatCommand } from '../harness/repeat.js';
import {
  counted,
  describeInterval,
  describeNumber,
  describeProcessorTime,
  describePublished,
  describeRatio,
  describeRatioInterval,
  describeShare,
} from './format.js';
import { verdictWord } from './verdict.js';

/** Counts the verdicts of a table: `14 rows: 9 faster, 4 no difference, 1 slower`. */
export function describeTally(outcome: TableOutcome): string {
  const rows = outcome.rows.filter(({ row }) => !row.aside);
  const verdicts = ['faster', 'no difference', 'slower', 'unknown'] as const;
  const tally = verdicts
    .map((verdict) => ({ verdict, count: rows.filter((row) => row.verdict === verdict).length }))
    .filter(({ count }) => count > 0)
    .map(({ verdict, count }) => `${count} ${verdictWord(verdict)}`);
  return `${counted(rows.length, 'row')}: ${tally.join(', ')}`;
}

/** The number of unmeasured rows, and the command that measures them; undefined if there are none. */
export function describeUnmeasured({
  table,
  unmeasured,
}: TableOutcome): { readonly words: string; readonly command: string } | undefined {
  if (unmeasured.length === 0) return undefined;
  return {
    words: `${counted(unmeasured.length, 'more row')} not measured yet`,
    command: repeatCommand({ TABLE: table.table }),
  };
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

/** The published figures of the document beside ours. */
export function describeDocument({ table, rows }: TableOutcome): string {
  const lines = rows.filter(({ row }) => row.column !== undefined);
  const published = (name: string) => lines.some(({ row }) => name in (row.published ?? {}));
  const columns = table.subjects.flatMap(({ name, role }) => {
    if (published(name))
      return [
        { name, from: 'published' },
        { name, from: 'here' },
      ] as const;
    return role === 'ours' ? [{ name, from: 'here' } as const] : [];
  });
  const cells = lines.map(({ row, subjects }) => [
    `${row.column}${row.unit && `, ${row.unit}`}`,
    ...columns.map(({ name, from }) => {
      const value =
        from === 'published'
          ? row.published?.[name]
          : subjects.find(({ subject }) => subject.name === name)?.value?.median;
      if (value === undefined) return '–';
      return from === 'published' ? describePublished(value) : describeNumber(value);
    }),
  ]);
  const heads = [
    ['', ...columns.map(({ name }) => name)],
    ['', ...columns.map(({ from }) => from)],
  ];
  const all = [...heads, ...cells];
  const widths = ['', ...columns].map((_, index) =>
    Math.max(...all.map((line) => line[index]?.length ?? 0)),
  );
  return all
    .map(([title = '', ...figures]) =>
      [
        title.padEnd(widths[0] ?? 0),
        ...figures.map((figure, index) => figure.padStart(widths[index + 1] ?? 0)),
      ].join('  '),
    )
    .join('\n');
}

/** A block per situation, a line per subject; defects are marked. */
export function describeBehaviours({ behaviours, subjects }: BehavioursOutcome): string {
  const width = Math.max(...subjects.map(({ subject }) => subject.name.length));
  const blocks = behaviours.columns.map((column) => {
    const lines = subjects.map(({ subject, found, note }) => {
      const { words, sound } = found[column] ?? { words: `not known: ${note}`, sound: false };
      return `  ${sound ? ' ' : '!'} ${subject.name.padEnd(width)}  ${words}`;
    });
    return [`${behaviours.title}: ${column}`, ...lines].join('\n');
  });
  return blocks.join('\n');
}

function describeSubject(found: SubjectOutcome): string {
  const { subject, ok, unavailable, note, value, processorTime, ratio, worstRatio, verdict } =
    found;
  if (unavailable) return note;
  if (!ok || !value) return `failed: ${note}`;
  const figure = `${describeNumber(value.median).padStart(10)}  (${describeInterval(value)})`;
  const figures =
    processorTime === null
      ? figure
      : `${figure}  ${describeProcessorTime(processorTime)} of processor time`;
  if (!ratio) return figures;
  if (subject.role === 'floor')
    return `${figures}  ours: ${describeShare(ratio.median)} of this floor`;
  return `${figures}  ours: ${describeRatio(ratio.median)} (${describeRatioInterval(ratio)}${worstRatio === null ? '' : `, worst ${describeRatio(worstRatio)}`}), ${verdictWord(verdict)}`;
}
