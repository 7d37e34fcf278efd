/** The runner's handle of a client process. */
import { fileURLToPath } from 'node:url';
import { type History, now, readHistory } from '../history.js';
import type { Setting } from '../subjects/subject.js';
import type { Calls, Start } from './calls.js';
import { RemoteProcess } from './remote.js';

const main = fileURLToPath(new URL('./main.js', import.meta.url));

export class ClientProcess extends RemoteProcess<Calls> {
  readonly setting: Setting;
  readonly #start: Start;

  private constructor(start: Start) {
    super(start.setting.name, main, start);
    this.setting = start.setting;
    this.#start = start;
  }

  static start(start: Start): Promise<ClientProcess> {
    return new ClientProcess(start).started();
  }

  history(): History {
    const history = readHistory(this.name, this.#start.history);
    if (this.crash) history.oddities.push({ client: this.name, at: now(), text: this.crash });
    return history;
  }
}
