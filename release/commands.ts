/** The commands that publish a finished release. */
import semver from 'semver';
import { crates } from './artefacts.js';

interface Surroundings {
  readonly remote: string | undefined;
  readonly hasJsr: boolean;
  /** Whether this is a build of a code host that attests the origin of a package. */
  readonly canProve: boolean;
}

export function remainingCommands(
  version: string,
  { remote, hasJsr, canProve }: Surroundings,
): string[] {
  const out = `release/out/${version}`;
  // A lock file of this repository pins, by hash, each tool that runs with the publisher's credentials.
  const deno = 'tests/runtimes/all/node_modules/.bin/deno';
  const manifest = '--allow-dirty --config jsr.json';
  const npm = [
    `npm publish ./${out}/pointsman-${version}.tgz --access public`,
    // Otherwise users who request no version would get it.
    ...(semver.prerelease(version) ? ['--tag next'] : []),
    ...(canProve ? ['--provenance'] : []),
  ];
  const cargo = [
    `cargo publish --locked --manifest-path ${out}/source/Cargo.toml`,
    ...crates.map((crate) => `--package ${crate}`),
  ];
  return [
    ...(remote ? [`git push --atomic ${remote} main v${version}`] : []),
    npm.join(' '),
    cargo.join(' '),
    ...(hasJsr
      ? [`(cd ${out}/source && make jsr && cd packages/pointsman && ${deno} publish ${manifest})`]
      : []),
  ];
}

/** GitHub Actions with the permission `id-token: write`, or GitLab CI with the token of sigstore. */
export function canProve(env: NodeJS.ProcessEnv): boolean {
  return 'ACTIONS_ID_TOKEN_REQUEST_URL' in env || 'SIGSTORE_ID_TOKEN' in env;
}
