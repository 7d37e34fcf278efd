/**
 * The machine of a run.
 *
 * Invariant: contains everything that makes two runs incomparable. What changes between runs on one machine, such as the
 * load, is recorded with each round.
 */
import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { x } from 'tinyexec';

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memory_gibibytes: number;
  readonly system: string;
  readonly kernel: string;
  readonly node: string;
  readonly v8: string;
  /** Of the repository; ends in `-dirty` when files were changed since. */
  readonly commit: string | null;
}

export async function describeMachine(folder: string): Promise<Machine> {
  return {
    cpu: cpus()[0]?.model.trim() ?? arch(),
    cores: availableParallelism(),
    memory_gibibytes: Math.round((totalmem() / 2 ** 30) * 10) / 10,
    system: systemName(),
    kernel: `${type()} ${release()}`,
    node: process.versions.node,
    v8: process.versions.v8,
    commit: await commitOf(folder),
  };
}

function systemName(): string {
  try {
    const described = readFileSync('/etc/os-release', 'utf8').match(/^PRETTY_NAME="?([^"\n]+)/m);
    return described?.[1] ?? type();
  } catch {
    return type();
  }
}

async function commitOf(folder: string): Promise<string | null> {
  try {
    const { stdout, exitCode } = await x(
      'git',
      ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'],
      { nodeOptions: { cwd: folder } },
    );
    return exitCode === 0 ? stdout.trim() : null;
  } catch {
    return null;
  }
}
