import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { publishCommands, remainingCommands } from './commands.js';

const alone = { remote: undefined, hasJsr: false, canProve: false };

test('two commands publish what is in release/out', () => {
  expect(remainingCommands('0.2.0', alone)).toEqual([
    'npm publish ./release/out/0.2.0/pointsman-0.2.0.tgz --access public',
    'cargo publish --locked --manifest-path release/out/0.2.0/source/Cargo.toml --package pointsman-macros --package pointsman --package pointsman-top',
  ]);
});

test('a prerelease is not the default version', () => {
  expect(remainingCommands('0.2.0-rc.1', alone)[0]).toMatch(/ --tag next$/);
});

test('a provenance if the build can attest it, a push if there is a remote, JSR if there is a manifest', () => {
  const commands = remainingCommands('0.2.0', { remote: 'origin', hasJsr: true, canProve: true });
  expect(commands[0]).toBe('git push --atomic origin main v0.2.0');
  expect(commands[1]).toMatch(/ --provenance$/);
  expect(commands[3]).toContain('tests/runtimes/all/node_modules/.bin/deno publish ');
});

test('only pinned tools run with the credentials of the publisher', () => {
  const surroundings = { remote: 'origin', hasJsr: true, canProve: true };
  const inPublicCI = publishCommands('0.2.0', { source: '.', canProve: true });
  for (const command of [
    ...remainingCommands('0.2.0', surroundings),
    ...Object.values(inPublicCI),
  ]) {
    expect(command).not.toMatch(/npx|npm exec|npm install|cargo install/);
  }
});

test('the public CI publishes the same files, and the crates from its own clone of the tag', () => {
  const here = publishCommands('0.2.0', { source: '.', canProve: true });
  expect(here.npm).toBe(
    'npm publish ./release/out/0.2.0/pointsman-0.2.0.tgz --access public --provenance',
  );
  expect(here.crates).toContain('--manifest-path ./Cargo.toml ');
  expect(here.github).not.toContain('--prerelease');
  const candidate = publishCommands('0.2.0-rc.1', { source: '.', canProve: true });
  expect(candidate.github).toContain('v0.2.0-rc.1 --verify-tag --notes-from-tag --prerelease');
});

test('the manifest requests no provenance: without a token npm would refuse to publish', () => {
  const manifest = new URL('../packages/pointsman/package.json', import.meta.url);
  expect(JSON.parse(readFileSync(manifest, 'utf8')).publishConfig).toEqual({ access: 'public' });
});
