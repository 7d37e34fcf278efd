/**
 * The published document's own library, in Ruby; `make ruby` installs it. A Ruby program of this lab does both tests on
 * the given server. For its older versions the report shows only the document's figures.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Address } from '../../../harness/redis-server.js';
import type { Samples } from '../../../harness/table.js';
import type { ForeignProgram, ForeignSubject, Test } from '../subject.js';

// From the compiled module in lab/dist/tables/lock/subjects/.
const program = fileURLToPath(new URL('../../../../tables/lock/ruby/document.rb', import.meta.url));
const gems = fileURLToPath(new URL('../../../../.tools/ruby', import.meta.url));

export const scriptHandler = withHandler('script');
export const pureHandler = withHandler('pure');
export const version023 = withVersion('0.2.3');
export const version012 = withVersion('0.1.2');

export const olderVersions = [version023, version012];

/** In the order of the report. */
export const foreignSubjects = [scriptHandler, pureHandler, ...olderVersions];

function withHandler(handler: 'script' | 'pure'): ForeignSubject {
  return {
    name: `redis-em-mutex, ${handler} handler`,
    role: 'peer',
    note: "The document's own library, in Ruby on EventMachine, with this lab's program of the two tests.",
    whatIsLacking,
    start: (test, address, namespace) => start(handler, test, address, namespace),
  };
}

function withVersion(version: string): ForeignSubject {
  return {
    name: `redis-em-mutex ${version}`,
    role: 'peer',
    whatIsLacking: () => 'an older version, with its published figures only',
    start() {
      throw new Error(`redis-em-mutex ${version} has only published figures`);
    },
  };
}

function start(handler: string, test: Test, address: Address, namespace: string): ForeignProgram {
  const child = spawn(
    'ruby',
    [
      ...[program, '--gems', gems, '--handler', handler, '--test', test],
      ...['--url', `redis://${address.host}:${address.port}`, '--namespace', namespace],
    ],
    { stdio: ['pipe', 'pipe', 'pipe'] },
  );
  let errors = '';
  child.stderr.on('data', (data) => {
    errors += data;
  });
  // A program that has ended does not read its last request.
  child.stdin.on('error', () => {});
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async run({ size }, milliseconds): Promise<Samples> {
      child.stdin.write(`${JSON.stringify({ size, milliseconds })}\n`);
      const { value, done } = await answers.next();
      if (done) throw new Error(errors.trim().split('\n').at(-1) || 'its program ended');
      return JSON.parse(value);
    },
    end: () => child.stdin.end(),
  };
}

function whatIsLacking(): string | undefined {
  const found = spawnSync('ruby', [program, '--gems', gems, '--check'], { encoding: 'utf8' });
  if (found.error) return 'not here: Ruby (make ruby installs it)';
  if (found.status === 0) return undefined;
  return `not here: ${found.stderr.split('\n')[0]} (make ruby installs it)`;
}
