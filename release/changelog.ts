/**
 * The changelog, from fragments: a file for each change that users notice, `changelog/<name>.<kind>.md`, with the
 * text of its line. Two changes never touch the same line, and a release puts them together.
 *
 * Invariant: collecting loses no word, neither of a fragment nor of the changelog.
 */
const kinds = ['added', 'changed', 'deprecated', 'removed', 'fixed', 'security'] as const;
type Kind = (typeof kinds)[number];

export interface Fragment {
  readonly kind: Kind;
  readonly text: string;
}

const fragmentName = new RegExp(`^[a-z0-9]+(?:-[a-z0-9]+)*\\.(${kinds.join('|')})\\.md$`);

/** Reads fragments, given as their files' names and texts. Throws an error that names each that is none. */
export function parseFragments(files: ReadonlyMap<string, string>): Fragment[] {
  const problems: string[] = [];
  const fragments: Fragment[] = [];
  for (const [name, text] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const kind = fragmentName.exec(name)?.[1] as Kind | undefined;
    if (!kind) {
      problems.push(
        `changelog/${name}: expected <short-name>.<kind>.md, in small letters, digits and hyphens, with a kind of ${kinds.join(', ')}`,
      );
    } else if (!/^[^\s#*-]/.test(text)) {
      problems.push(`changelog/${name}: expected text, without a heading or the mark of a list`);
    } else fragments.push({ kind, text: text.trim() });
  }
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return fragments;
}

/**
 * What changes with the next release: the fragments by their kinds, before what stands under "Unreleased" in the
 * changelog. Empty if there is neither.
 */
export function nextSection(changelog: string, fragments: readonly Fragment[]): string {
  const [introduction = '', ...parts] = split(changelog).unreleased.split(/^### /m);
  const written = new Map(
    parts.map((part) => {
      const [heading = '', ...lines] = part.split('\n');
      return [heading.trim(), lines.join('\n').trim()];
    }),
  );
  for (const kind of kinds) {
    const items = fragments.filter((fragment) => fragment.kind === kind).map(itemOf);
    if (items.length === 0) continue;
    const heading = kind.replace(/^./, (letter) => letter.toUpperCase());
    const rest = written.get(heading) ?? '';
    const joint = rest === '' ? '' : rest.startsWith('- ') ? '\n' : '\n\n';
    written.set(heading, items.join('\n') + joint + rest);
  }
  const sections = [...written].map(([heading, text]) => `### ${heading}\n\n${text}`);
  return [introduction.trim(), ...sections].filter(Boolean).join('\n\n');
}

/** The changelog after a release: what was unreleased is under its version. */
export function collect(
  changelog: string,
  fragments: readonly Fragment[],
  version: string,
  date: string,
): string {
  const { before, older } = split(changelog);
  const section = `## ${version} - ${date}\n\n${nextSection(changelog, fragments)}\n`;
  return `${before.trimEnd()}\n\n${section}${older && `\n${older}`}`;
}

/** The changelog's head, what stands under "Unreleased", which may be missing, and the versions. */
function split(changelog: string): { before: string; unreleased: string; older: string } {
  const [before = '', ...sections] = changelog.split(/^(?=## )/m);
  const heading = '## Unreleased\n';
  if (!sections[0]?.startsWith(heading)) {
    return { before, unreleased: '', older: sections.join('') };
  }
  const [first, ...older] = sections;
  return { before, unreleased: first.slice(heading.length), older: older.join('') };
}

function itemOf({ text }: Fragment): string {
  return `- ${text.replace(/\n(?=.)/g, '\n  ')}`;
}
