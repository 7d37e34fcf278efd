/**
 * The public address of the repository, in the forms that registries and pages need.
 *
 * Invariant: the field `repository` of the root's package.json is its only source.
 */
export interface Address {
  /** As a reader opens it, without a slash or `.git` at the end. */
  readonly page: string;
  /** As npm writes it, and compares it with a provenance. */
  readonly git: string;
  readonly issues: string;
  /** Followed by a file's path: its page. */
  readonly files: string;
  /** The code host's form for private reports of vulnerabilities. */
  readonly advisory: string;
}

const form = /^https:\/\/[\w.-]+(?::\d+)?(?:\/[\w.-]+){2,}$/;

export function parseAddress(repository: unknown): Address | undefined {
  if (repository === undefined) return undefined;
  if (typeof repository !== 'string' || !form.test(repository) || repository.endsWith('.git')) {
    throw new Error(
      `repository ${JSON.stringify(repository)} in package.json: expected the address of the repository's page, like https://host/owner/name`,
    );
  }
  return {
    page: repository,
    git: `git+${repository}.git`,
    issues: `${repository}/issues`,
    files: `${repository}/blob/main/`,
    advisory: `${repository}/security/advisories/new`,
  };
}
