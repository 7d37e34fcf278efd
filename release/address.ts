/**
 * The public address of the repository, and the forms in which registries and pages want it.
 *
 * Invariant: it stands in one place, the field `repository` of the root's package.json, and all else is
 * derived from it.
 */
export interface Address {
  /** As a reader opens it, without a slash or `.git` at its end. */
  readonly page: string;
  /** As npm writes it, which is also what it compares a provenance with. */
  readonly git: string;
  readonly issues: string;
  /** Where the code host takes reports of vulnerabilities that nobody else reads. */
  readonly advisory: string;
}

const form = /^https:\/\/[\w.-]+(?::\d+)?(?:\/[\w.-]+){2,}$/;

export function parseAddress(repository: unknown): Address | undefined {
  if (repository === undefined) return undefined;
  if (typeof repository !== 'string' || !form.test(repository) || repository.endsWith('.git')) {
    throw new Error(
      `repository ${JSON.stringify(repository)} in package.json: expected the address of the repository's page, as https://host/owner/name`,
    );
  }
  return {
    page: repository,
    git: `git+${repository}.git`,
    issues: `${repository}/issues`,
    advisory: `${repository}/security/advisories/new`,
  };
}
