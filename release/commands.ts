/** The commands that publish a finished release. */
import semver from 'semver';
import { crates } from './artefacts.js';

interface Surroundings {
  readonly remote: string | undefined;
  readonly hasJsr: boolean;
  /** Whether this is a build of a code host that attests the origin of a package. */
  readonly canProve: boolean;
}

/** The folder of the files that a release publishes. */
const outOf = (version: string) => `release/out/${version}`;

/** Returns what `make publish TO=` runs for each destination. `source` is a clone at the release's tag. */
export function publishCommands(
  version: string,
  { source, canProve }: { readonly source: string; readonly canProve: boolean },
) {
  const out = outOf(version);
  const isPrerelease = semver.prerelease(version) !== null;
  // A lock file of this repository pins, by hash, each tool that runs with the publisher's credentials.
  const deno = 'tests/runtimes/all/node_modules/.bin/deno';
  const manifest = '--allow-dirty --config jsr.json';
  const npm = [
    `npm publish ./${out}/pointsman-${version}.tgz --access public`,
    // Otherwise users who request no version would get it.
    ...(isPrerelease ? ['--tag next'] : []),
    ...(canProve ? ['--provenance'] : []),
  ];
  const cargo = [
    `cargo publish --locked --manifest-path ${source}/Cargo.toml`,
    ...crates.map((crate) => `--package ${crate}`),
  ];
  const page = [
    `gh release create v${version} --verify-tag --notes-from-tag`,
    ...(isPrerelease ? ['--prerelease'] : []),
    `${out}/*.tgz ${out}/*.crate ${out}/SHA256SUMS`,
  ];
  return {
    npm: npm.join(' '),
    crates: cargo.join(' '),
    jsr: `(cd ${source} && make jsr && cd packages/pointsman && ${deno} publish ${manifest})`,
    github: page.join(' '),
  };
}

export type Destination = keyof ReturnType<typeof publishCommands>;

/** Returns what remains to be done by hand after `make release`. */
export function remainingCommands(
  version: string,
  { remote, hasJsr, canProve }: Surroundings,
): string[] {
  const { npm, crates, jsr } = publishCommands(version, {
    source: `${outOf(version)}/source`,
    canProve,
  });
  return [
    ...(remote ? [`git push --atomic ${remote} main v${version}`] : []),
    npm,
    crates,
    ...(hasJsr ? [jsr] : []),
  ];
}

/** GitHub Actions with the permission `id-token: write`, or GitLab CI with the token of sigstore. */
export function canProve(env: NodeJS.ProcessEnv): boolean {
  return 'ACTIONS_ID_TOKEN_REQUEST_URL' in env || 'SIGSTORE_ID_TOKEN' in env;
}
