/** The runner's handle of a process with limiters. */
import { fileURLToPath } from 'node:url';
import { RemoteProcess } from '../client/remote.js';
import type { LimiterCalls, LimiterStart } from './calls.js';
import type { ProcessLog } from './judge.js';
import { type Line, readLog } from './log.js';

const script = fileURLToPath(new URL('./client.js', import.meta.url));

export class LimiterProcess extends RemoteProcess<LimiterCalls> {
  readonly #start: LimiterStart;

  private constructor(start: LimiterStart) {
    super(start.setting.name, script, start);
    this.#start = start;
  }

  static start(start: LimiterStart): Promise<LimiterProcess> {
    return new LimiterProcess(start).started();
  }

  log(): ProcessLog {
    const { name, killedAt } = this;
    const lines: Line[] = readLog(this.#start.log);
    if (this.crash) lines.push({ kind: 'odd', text: this.crash });
    return { name, lines, killedAt };
  }
}
