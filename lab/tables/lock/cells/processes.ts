/**
 * Several processes with ten tasks each compete for the same keys, where a queue inside one process is not enough. The
 * same processes serve all settings in turn.
 */
import type { Cell, Subject } from '../../../harness/table.js';
import { Processes } from '../processes/processes.js';
import {
  hostSettings,
  nameOf,
  processCount,
  type Setting,
  semaphoreSettings,
  settings,
} from '../processes/shared.js';
import { hostLocks } from '../subjects/host-locks.js';
import { handOverInProcess, processesSubjects } from '../subjects/index.js';
import { semaphores } from '../subjects/semaphores.js';
import { costOf } from './cost.js';
import { onServer } from './on-server.js';

const sliceMilliseconds = 250;
/** After this time the engine has compiled the code of a turn in each process. */
const warmUpMilliseconds = 1_000;

const define = (
  id: string,
  subjects: readonly Subject[],
  settings: readonly Setting[],
  warmUp = settings[0] as Setting,
): Cell => ({
  id,
  subjects: subjects.map(({ name }) => name),
  expectedMilliseconds: 2_500,
  limitMilliseconds: 60_000,
  sliceMilliseconds,
  measure: (name, lab) =>
    onServer(async ({ address, namespace, control }) => {
      const processes = new Processes(name, address, namespace);
      await processes.ready();
      // Without a server they cannot exclude each other. One process alone shows the upper bound.
      const working = name === handOverInProcess.name ? 1 : processCount;

      async function run(setting: Setting, milliseconds: number) {
        const [{ turns, used, ...found }, { executed }] = await costOf(control, () =>
          processes.run(setting, working, milliseconds),
        );
        const figures = {
          ...found,
          executed: executed / turns,
          'processor time': used / turns,
        };
        return Object.fromEntries(
          Object.entries(figures).map(([figure, value]) => [`${nameOf(setting)} ${figure}`, value]),
        );
      }

      await run(warmUp, warmUpMilliseconds);
      await lab.serve(
        settings.map((setting) => ({
          name: nameOf(setting),
          run: (milliseconds) => run(setting, milliseconds),
        })),
      );
      processes.end();
      return { ok: true, samples: {} };
    }),
});

export const processesCell = define('processes', processesSubjects, settings, {
  keySet: '3/5',
  pauseMilliseconds: 0,
});
export const semaphoreProcessesCell = define(
  'semaphore-processes',
  semaphores.filter(({ role }) => role !== 'floor'),
  semaphoreSettings,
);
export const hostProcessesCell = define(
  'host-processes',
  hostLocks.filter(({ role }) => role !== 'floor'),
  hostSettings,
);
