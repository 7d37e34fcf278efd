/**
 * Commands that a user types, as a test runs them.
 *
 * Invariant: a command and whatever it starts are a group of processes, and none of them is left when it has been
 * ended, nor when this process ends.
 */
import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';

/** Milliseconds that whatever is asked to end has for it. */
const grace = 10_000;

const warning = /\bwarn(ing)?s?\b|\bdeprecated\b|⚠|\(!\)/i;

export class Command {
  output = '';
  /** Resolves with its status when it and all that it has started have let go of their output. */
  closed;
  #child;

  /** `heard` is told each time there is more output. */
  constructor(line, { cwd, heard = () => {} } = {}) {
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
        heard(this);
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

  /** What does not end when it is asked to is killed. */
  async end() {
    this.#kill();
    const timer = setTimeout(() => this.#kill('SIGKILL'), grace);
    await this.closed;
    clearTimeout(timer);
  }

  /** The first line that warns, which no recipe should. What npm says is about the machine. */
  get warning() {
    return this.output.split('\n').find((line) => warning.test(line) && !line.startsWith('npm '));
  }

  #kill(signal = 'SIGTERM') {
    try {
      process.kill(-this.#child.pid, signal);
    } catch {
      // It has ended.
    }
  }
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
