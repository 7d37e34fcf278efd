import { expect, test } from 'vitest';
import { parseAddress } from './address.js';
import { type Facts, stampOf } from './stamp/index.js';

const facts: Facts = { version: '0.2.0', address: parseAddress('https://host.example/owner/name') };

function stamp(path: string, text: string, given = facts): string {
  const stamped = stampOf(path)?.(text, given) as string;
  expect(stampOf(path)?.(stamped, given), 'a second time changes nothing').toBe(stamped);
  return stamped;
}

test("the package's manifest has the version and the address", () => {
  const manifest =
    '{\n  "name": "pointsman",\n  "version": "0.1.0",\n  "license": "MIT",\n  "type": "module"\n}\n';
  expect(stamp('packages/pointsman/package.json', manifest)).toBe(`{
  "name": "pointsman",
  "version": "0.2.0",
  "license": "MIT",
  "repository": {
    "type": "git",
    "url": "git+https://host.example/owner/name.git",
    "directory": "packages/pointsman"
  },
  "homepage": "https://host.example/owner/name#readme",
  "bugs": {
    "url": "https://host.example/owner/name/issues"
  },
  "type": "module"
}
`);
  const unknown = { ...facts, address: undefined };
  expect(stamp('packages/pointsman/package.json', manifest, unknown)).toBe(
    manifest.replace('0.1.0', '0.2.0'),
  );
});

test('dependents of the package require this version; links stay links', () => {
  const text = (version: string) =>
    `{ "version": "0.1.0", "dependencies": { "pointsman": "^${version}", "other": "^0.1.0" } }`;
  expect(stamp('examples/vite/package.json', text('0.1.0'))).toBe(text('0.2.0'));
  const link = '{ "dependencies": { "pointsman": "file:../pointsman" } }';
  expect(stamp('package.json', link)).toBe(link);
});

test("npm's lock files", () => {
  const text = (version: string) => `{
  "packages": {
    "": { "version": "0.1.0" },
    "../packages/pointsman": { "version": "${version}" },
    "vite": { "dependencies": { "pointsman": "^${version}" } },
    "node_modules/pointsman": { "resolved": "../packages/pointsman", "link": true },
    "node_modules/other": { "version": "0.1.0" }
  }
}`;
  expect(stamp('examples/package-lock.json', text('0.1.0'))).toBe(text('0.2.0'));
});

test("JSR's manifest, and Deno's configuration of an example", () => {
  const jsr = (version: string) => `{ "name": "@scope/pointsman", "version": "${version}" }`;
  expect(stamp('packages/pointsman/jsr.json', jsr('0.1.0'))).toBe(jsr('0.2.0'));
  const deno = (version: string) =>
    `{ "version": "0.1.0", "imports": { "pointsman/": "npm:pointsman@^${version}/" } }`;
  expect(stamp('examples/deno/deno.json', deno('0.1.0'))).toBe(deno('0.2.0'));
});

test("the workspace's manifest, and the requirements of one crate for the other", () => {
  const text = (version: string, address: string) => `[workspace.package]
version = "${version}"
license = "MIT"
${address}
[workspace.dependencies]
bytes = "0.1.0"
pointsman-macros = { version = "=${version}", path = "crates/macros" }
pointsman = "${version}"
pointsman-other = "0.1.0"
`;
  const lines = ['repository', 'homepage'].map(
    (key) => `${key} = "https://host.example/owner/name"\n`,
  );
  expect(stamp('Cargo.toml', text('0.1.0', ''))).toBe(text('0.2.0', lines.join('')));
});

test('published crates inherit the address; Tokio keeps its version', () => {
  const published =
    '[package]\nname = "pointsman"\nversion.workspace = true\nlicense.workspace = true\n';
  expect(stamp('crates/pointsman/Cargo.toml', published)).toBe(
    `${published}repository.workspace = true\nhomepage.workspace = true\n`,
  );
  const tokio =
    '[package]\nname = "tokio"\nversion = "1.54.1"\nlicense.workspace = true\npublish = false\n';
  expect(stamp('crates/tokio/Cargo.toml', tokio)).toBe(tokio);
});

test("cargo's lock files name the crates of the repository, which have no source", () => {
  const crate = (name: string, version: string) =>
    `[[package]]\nname = "${name}"\nversion = "${version}"\n`;
  const text = (version: string) =>
    [
      crate('pointsman', version),
      crate('pointsman-macros', version),
      crate('pointsman-top', version),
      crate('other', '0.1.0'),
      `${crate('pointsman', '0.1.0')}source = "registry"\n`,
    ].join('\n');
  expect(stamp('lab/Cargo.lock', text('0.1.0'))).toBe(text('0.2.0'));
});

test('pages that need the absolute address get it, and a new one when it changes', () => {
  const other = { ...facts, address: parseAddress('https://other.example/a/b') };
  const security = stamp('SECURITY.md', 'Choose "Report a vulnerability".');
  const link = '/security/advisories/new';
  expect(security).toBe(`Choose [Report a vulnerability](https://host.example/owner/name${link}).`);
  expect(stamp('SECURITY.md', security, other)).toContain(`(https://other.example/a/b${link})`);
  const path = '.github/ISSUE_TEMPLATE/config.yml';
  const forms = stamp(path, 'blank_issues_enabled: true\n');
  expect(forms).toMatch(/^blank_issues_enabled: true\ncontact_links:\n {2}- name: /);
  expect(stamp(path, forms, other)).toBe(
    forms.replace('host.example/owner/name', 'other.example/a/b'),
  );
});

test("a package's README links its guides once there is an address", () => {
  const path = 'packages/pointsman/README.md';
  const text = 'See `docs/pool.md` and `docs/sync/locks.md`, not `docs/`.';
  const link = (guide: string, page = 'host.example/owner/name') =>
    `[\`${guide}\`](https://${page}/blob/main/${guide})`;
  const linked = stamp(path, text);
  expect(linked).toBe(
    `See ${link('docs/pool.md')} and ${link('docs/sync/locks.md')}, not \`docs/\`.`,
  );
  const other = { ...facts, address: parseAddress('https://other.example/a/b') };
  expect(stamp(path, linked, other)).toContain(link('docs/pool.md', 'other.example/a/b'));
  expect(stamp(path, text, { ...facts, address: undefined })).toBe(text);
});

test('other files are left alone', () => {
  expect(stampOf('README.md')).toBe(undefined);
});
