/** `node release/dist/release.js`: called by the targets of release.mk and by `make check`. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineCommand, runMain } from 'citty';
import { auditAll } from './audit.js';
import { nextSection } from './changelog.js';
import { canProve, type Destination, publishCommands, remainingCommands } from './commands.js';
import { findConflictsIn } from './conflicts.js';
import { refusals } from './refusals.js';
import {
  outOfStep,
  readSituation,
  readState,
  stampedFiles,
  trackedFiles,
  upstream,
} from './repository.js';
import { runShown } from './run.js';
import { checkTag, makeRelease, packTag } from './steps.js';
import { findWordsIn } from './words.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** An error ends the command with its message, without a stack. */
const command = (name: string, description: string, work: () => Promise<boolean>) =>
  defineCommand({ meta: { name, description }, run: () => finish(work) });

async function finish(work: () => Promise<boolean>): Promise<void> {
  try {
    if (!(await work())) process.exitCode = 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}

async function release(version: string, tested: boolean): Promise<boolean> {
  const state = await readState(root);
  const reasons = refusals(await readSituation(root, version, state));
  if (reasons.length > 0) {
    console.error(`No release is made:\n${reasons.map((reason) => `  - ${reason}`).join('\n')}`);
    return false;
  }
  const date = new Date().toISOString().slice(0, 10);
  await makeRelease({ root, version, date, tested });
  const commands = remainingCommands(version, {
    remote: await upstream(root),
    hasJsr: existsSync(join(root, 'packages/pointsman/jsr.json')),
    canProve: canProve(process.env),
  });
  console.log(`
${version} is committed and tagged here, and the files to publish are in release/out/${version}.
${tested ? 'The tests were skipped (TESTED=1): make test-all must have passed on this commit.' : 'make test has passed; make test-all tests the other runtimes too.'}
To publish it (where .github/workflows/release.yml is set up, the push is enough):

${commands.map((line) => `  ${line}`).join('\n')}`);
  return true;
}

async function pack(): Promise<boolean> {
  const { version } = await readState(root);
  await checkTag(root, version);
  await packTag({ root, version });
  console.log(`The files to publish are in release/out/${version}.`);
  return true;
}

async function publish(destination: string): Promise<boolean> {
  const { version } = await readState(root);
  // Without a clone, the work tree is the source: a job of the public CI has only this.
  const commands = publishCommands(version, { source: '.', canProve: canProve(process.env) });
  if (!Object.hasOwn(commands, destination)) {
    const known = Object.keys(commands).join(', ');
    throw new Error(`TO=${destination}: expected one of ${known}`);
  }
  await checkTag(root, version);
  const command = commands[destination as Destination];
  console.log(command);
  return runShown(command, root);
}

async function stamp(): Promise<boolean> {
  let count = 0;
  for (const { path, text, stamped } of await stampedFiles(root, await readState(root))) {
    if (stamped === text) continue;
    await writeFile(join(root, path), stamped);
    console.log(`  ${path}`);
    count++;
  }
  console.log(count === 0 ? 'All files are up to date.' : 'These files are updated.');
  return true;
}

async function check(): Promise<boolean> {
  const paths = await outOfStep(root, await readState(root));
  if (paths.length > 0) {
    console.error(
      `The version or address in these files differs from packages/pointsman/package.json and the root's; run make stamp:\n${paths.map((path) => `  ${path}`).join('\n')}`,
    );
  }
  const conflicts = await findConflictsIn(root, await trackedFiles(root));
  if (conflicts.length > 0) console.error(conflicts.join('\n'));
  return (await checkWords([])) && paths.length + conflicts.length === 0;
}

async function checkWords(paths: readonly string[]): Promise<boolean> {
  const found = await findWordsIn(root, await trackedFiles(root, paths));
  if (found.length === 0) return true;
  console.error(`${found.join('\n')}\n${found.length} words have a plainer one.`);
  return false;
}

async function changelog(): Promise<boolean> {
  const { changelog, fragments } = await readState(root);
  console.log(nextSection(changelog, fragments) || 'Nothing has changed since the last release.');
  return true;
}

const main = defineCommand({
  meta: { name: 'release', description: 'Makes releases, and checks versions and words' },
  subCommands: {
    make: defineCommand({
      meta: { name: 'make', description: 'Does everything before the publishing' },
      args: {
        version: { type: 'string', default: '', description: 'The version to release' },
        tested: { type: 'boolean', description: 'Skip the tests: they have passed' },
      },
      run: ({ args }) => finish(() => release(args.version, args.tested === true)),
    }),
    pack: command('pack', 'Packs what the tagged commit publishes', pack),
    publish: defineCommand({
      meta: { name: 'publish', description: 'Publishes the tagged commit' },
      args: { to: { type: 'string', default: '', description: 'npm, crates, jsr or github' } },
      run: ({ args }) => finish(() => publish(args.to)),
    }),
    stamp: command(
      'stamp',
      'Writes the version and the address into all files that state them',
      stamp,
    ),
    check: command(
      'check',
      'Checks versions, address, fragments, words and merge conflicts',
      check,
    ),
    words: defineCommand({
      meta: {
        name: 'words',
        description: 'Checks the words of the given files and folders, or all',
      },
      run: ({ args }) => finish(() => checkWords(args._)),
    }),
    changelog: command('changelog', 'Shows what the next release changes', changelog),
    audit: command('audit', 'Asks the registry for known vulnerabilities', () => auditAll(root)),
  },
});

await runMain(main);
