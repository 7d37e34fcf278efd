/**
 * Builds the changelog from fragments: one file per change, `changelog/<name>.<kind>.md`, with the text of its line, so
 * that two changes never conflict. A release collects them.
 *
 * Invariant: collecting loses no word of a fragment or of the changelog.
 */
const kinds = ['added', 'changed', 'deprecated', 'removed', 'fixed', 'security'] as const;
type Kind = (typeof kinds)[number];

export interface Fragment {
  readonly kind: Kind;
  readonly text: string;
}

const fragmentName = new RegExp(`^[a-z0-9]+(?:-[a-z0-9]+)*\\.(${kinds.join('|')})\\.md$`);

/** Parses fragments, given as file names and texts. Throws an error that names each malformed one. */
export function parseFragments(files: ReadonlyMap<string, string>): Fragment[] {
  const problems: string[] = [];
  const fragments: Fragment[] = [];
  for (const [name, text] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const kind = fragmentName.exec(name)?.[1] as Kind | undefined;
    if (!kind) {
      problems.push(
        `changelog/${name}: expected <short-name>.<kind>.md, in lower-case letters, digits and hyphens, with a kind of ${kinds.join(', ')}`,
      );
    } else if (!/^[^\s#*-]/.test(text)) {
      problems.push(`changelog/${name}: expected text, without a heading or a list marker`);
    } else fragments.push({ kind, text: text.trim() });
  }
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return fragments;
}

/**
 * Returns the changes of the next release: the fragments by kind, before the text under "Unreleased" in the changelog.
 * Empty if there is neither.
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

/** Returns the changelog after a release: the unreleased changes are under its version. */
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

/** Splits the changelog into its head, the text under "Unreleased", if any, and the versions. */
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
