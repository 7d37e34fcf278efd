/**
 * Decides whether a release may begin.
 *
 * Invariant: all reasons against it are found before it has any effect, and reported together.
 */
import semver from 'semver';

/** The state that a release depends on. */
export interface Situation {
  readonly asked: string;
  /** The version in the package's manifest. */
  readonly current: string;
  /** Local and remote tags. */
  readonly tags: readonly string[];
  readonly branch: string;
  readonly behind: boolean;
  /** The lines of `git status`. */
  readonly changes: readonly string[];
  readonly hasAddress: boolean;
  readonly hasNews: boolean;
  /** Files whose version or address differs. */
  readonly outOfStep: readonly string[];
  readonly missingTools: readonly string[];
}

export function refusals(situation: Situation): string[] {
  const { branch, behind, changes, hasAddress, hasNews, outOfStep, missingTools } = situation;
  const reasons: [refused: boolean, reason: string][] = [
    [missingTools.length > 0, `these programs are missing: ${missingTools.join(', ')}`],
    [branch !== 'main', `releases are made from the branch main, not from ${branch}`],
    [behind, 'the remote branch main has commits that are not here: run git pull'],
    [
      changes.length > 0,
      `the work tree has uncommitted changes:\n${changes.map((line) => `    ${line}`).join('\n')}`,
    ],
    [
      !hasAddress,
      'the public address is not set: add "repository": "https://host/owner/name" to the package.json of the root, then run make stamp and commit',
    ],
    [
      outOfStep.length > 0,
      `versions or the address differ: run make stamp and commit (${outOfStep.join(', ')})`,
    ],
    [
      !hasNews,
      'there is nothing to release: no fragments in changelog/, and nothing under Unreleased in CHANGELOG.md',
    ],
  ];
  const stated = reasons.filter(([refused]) => refused).map(([, reason]) => reason);
  const version = versionRefusal(situation);
  return version === undefined ? stated : [version, ...stated];
}

function versionRefusal({ asked, current, tags }: Situation): string | undefined {
  if (asked === '') return `the version is missing: make release VERSION=${next(current, tags)}`;
  if (semver.valid(asked) !== asked) {
    return `VERSION=${asked} is no version of Semantic Versioning: expected one like ${next(current, tags)}`;
  }
  if (tags.includes(`v${asked}`)) return `the tag v${asked} already exists`;
  const isFirst = !tags.some((tag) => tag.startsWith('v') && semver.valid(tag.slice(1)));
  if (semver.gt(asked, current) || (isFirst && asked === current)) return undefined;
  return `VERSION=${asked} must be above ${current}${isFirst ? ', or equal for the first release' : ''}`;
}

function next(current: string, tags: readonly string[]): string {
  return tags.includes(`v${current}`) ? (semver.inc(current, 'minor') as string) : current;
}
