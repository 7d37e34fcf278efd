/**
 * The published document's own library, in Ruby, if installed: `make ruby` installs it. Its program does both tests
 * itself, on the given server.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { x } from 'tinyexec';
import type { Address } from '../../../harness/redis-server.js';
import type { Measurement } from '../../../harness/table.js';
import type { ForeignSubject } from '../subject.js';

// From the compiled module in lab/dist/tables/lock/subjects/.
const program = fileURLToPath(new URL('../../../../tables/lock/ruby/document.rb', import.meta.url));
const gems = fileURLToPath(new URL('../../../../.tools/ruby', import.meta.url));

export const scriptHandler = withHandler('script');
export const pureHandler = withHandler('pure');

function withHandler(handler: 'script' | 'pure'): ForeignSubject {
  return {
    name: `redis-em-mutex, ${handler} handler`,
    role: 'peer',
    note: "The document's own library, in Ruby on EventMachine, with this lab's program of the two tests.",
    async measure(test, { host, port }: Address, milliseconds): Promise<Measurement> {
      const lacking = whatIsLacking();
      if (lacking !== undefined) {
        return { ok: false, note: `not here: ${lacking}`, samples: {}, unavailable: true };
      }
      const { stdout, stderr, exitCode } = await x('ruby', [
        ...[program, '--gems', gems, '--handler', handler, '--test', test],
        ...['--url', `redis://${host}:${port}`, '--milliseconds', String(milliseconds)],
      ]);
      if (exitCode !== 0)
        throw new Error(stderr.trim().split('\n').at(-1) || `ended with exit code ${exitCode}`);
      return { ok: true, note: '', samples: JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') };
    },
  };
}

function whatIsLacking(): string | undefined {
  const found = spawnSync('ruby', [program, '--gems', gems, '--check'], { encoding: 'utf8' });
  if (found.error) return 'Ruby (make ruby installs it)';
  return found.status === 0 ? undefined : `${found.stderr.split('\n')[0]} (make ruby installs it)`;
}
