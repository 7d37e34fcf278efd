/**
 * Whether a release may begin.
 *
 * Invariant: all reasons against it are found before it has any effect, and told together.
 */
import semver from 'semver';

/** How things stand, as far as a release depends on it. */
export interface Situation {
  readonly asked: string;
  /** The version in the package's manifest. */
  readonly current: string;
  /** Of the branch `main`, here and where it comes from. */
  readonly tags: readonly string[];
  readonly branch: string;
  readonly behind: boolean;
  /** What git has to say of the work tree. */
  readonly changes: readonly string[];
  readonly hasAddress: boolean;
  readonly hasNews: boolean;
  /** Files that say another version or address than the others. */
  readonly outOfStep: readonly string[];
  readonly missingTools: readonly string[];
}

export function refusals(situation: Situation): string[] {
  const { branch, behind, changes, hasAddress, hasNews, outOfStep, missingTools } = situation;
  const reasons: [refused: boolean, reason: string][] = [
    [missingTools.length > 0, `these programs are missing: ${missingTools.join(', ')}`],
    [branch !== 'main', `releases are made from the branch main, and this is ${branch}`],
    [behind, 'the branch main has commits where it comes from that are not here: run git pull'],
    [
      changes.length > 0,
      `the work tree has changes that are not committed:\n${changes.map((line) => `    ${line}`).join('\n')}`,
    ],
    [
      !hasAddress,
      'the public address is not filled in: add "repository": "https://host/owner/name" to the package.json of the root, then run make stamp and commit',
    ],
    [
      outOfStep.length > 0,
      `versions or the address are out of step: run make stamp and commit (${outOfStep.join(', ')})`,
    ],
    [
      !hasNews,
      'there is nothing to release: changelog/ has no fragments, and CHANGELOG.md nothing under Unreleased',
    ],
  ];
  const told = reasons.filter(([refused]) => refused).map(([, reason]) => reason);
  const version = versionRefusal(situation);
  return version === undefined ? told : [version, ...told];
}

function versionRefusal({ asked, current, tags }: Situation): string | undefined {
  if (asked === '') return `the version is missing: make release VERSION=${next(current, tags)}`;
  if (semver.valid(asked) !== asked) {
    return `VERSION=${asked} is no version of Semantic Versioning: expected one as ${next(current, tags)}`;
  }
  if (tags.includes(`v${asked}`)) return `there is a tag v${asked} already`;
  const isFirst = !tags.some((tag) => tag.startsWith('v') && semver.valid(tag.slice(1)));
  if (semver.gt(asked, current) || (isFirst && asked === current)) return undefined;
  return `VERSION=${asked} has to be above ${current}${isFirst ? ', or equal for the first release' : ''}`;
}

function next(current: string, tags: readonly string[]): string {
  return tags.includes(`v${current}`) ? (semver.inc(current, 'minor') as string) : current;
}
