/**
 * Runs a user's shell commands in tests.
 *
 * Invariant: a command and its children are a process group, and none of them outlives `end` or this process.
 */
import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';

/** Milliseconds between SIGTERM and SIGKILL. */
const grace = 10_000;

const warning = /\bwarn(ing)?s?\b|\bdeprecated\b|⚠|\(!\)/i;

export class Command {
  output = '';
  /** Resolves with its status when the command and its children have closed their output. */
  closed;
  #child;

  /** `onOutput` is called for each piece of output. */
  constructor(line, { cwd, onOutput = () => {} } = {}) {
    this.#child = spawn(line, {
      cwd,
      shell: true,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1' },
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        this.output += stripVTControlCharacters(text);
        onOutput(this);
      });
    }
    const kill = () => this.#kill();
    process.once('exit', kill);
    this.closed = new Promise((resolve) => {
      this.#child.once('close', (status) => {
        process.off('exit', kill);
        resolve(status);
      });
    });
  }

  /** Ends the process group, by force after `grace`. */
  async end() {
    this.#kill();
    const timer = setTimeout(() => this.#kill('SIGKILL'), grace);
    await this.closed;
    clearTimeout(timer);
  }

  /** The first line with a warning. npm's own lines are ignored: they are about the machine. */
  get warning() {
    return this.output.split('\n').find((line) => warning.test(line) && !line.startsWith('npm '));
  }

  #kill(signal = 'SIGTERM') {
    try {
      process.kill(-this.#child.pid, signal);
    } catch {
      // It has already ended.
    }
  }
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
