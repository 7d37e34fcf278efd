/**
 * Several processes with ten tasks each compete for the same keys, where a queue inside one process is not enough. All
 * settings in turn, with the same processes.
 */
import type { Cell } from '../../../harness/table.js';
import { commandsExecuted } from '../commands.js';
import { Processes } from '../processes/processes.js';
import { mostProcesses, nameOf, type Setting, settings } from '../processes/shared.js';
import { fastestSubjects, handOverInProcess } from '../subjects/index.js';
import { onServer } from './on-server.js';

const warmUp: Setting = { processes: mostProcesses, keySet: '3/5', pauseMilliseconds: 0 };
/** After this time the engine has compiled the code of a turn in each process. */
const warmUpMilliseconds = 2_000;

/** The duration of a setting, as a multiple of the budget. */
const longer = 1.5;

export const processesCell: Cell = {
  id: 'processes',
  subjects: [...fastestSubjects, handOverInProcess].map(({ name }) => name),
  expectedMilliseconds: 5_000,
  limitMilliseconds: 120_000,
  async measure(name, budget) {
    return onServer(async ({ address, control }) => {
      const processes = new Processes(name, address);
      await processes.ready();
      const samples: Record<string, number[]> = {};
      const times = {
        warmUpMilliseconds: budget.warmupMilliseconds / 2,
        milliseconds: budget.measureMilliseconds * longer,
      };
      // The processes are new, so their first turns are not representative.
      for (const setting of [warmUp, ...settings]) {
        // Without a server they cannot exclude each other. One process alone shows the upper bound.
        const working = name === handOverInProcess.name ? 1 : setting.processes;
        const executedBefore = await commandsExecuted(control);
        const { sent, turns, ...found } = await processes.run(
          setting,
          working,
          setting === warmUp ? { ...times, warmUpMilliseconds } : times,
        );
        const executed = (await commandsExecuted(control)) - executedBefore - 1;
        if (setting === warmUp) continue;
        const all = { ...found, sent: sent / turns, executed: executed / turns };
        for (const [measure, value] of Object.entries(all)) {
          samples[`${nameOf(setting)} ${measure}`] = [value];
        }
      }
      processes.end();
      return { ok: true, samples };
    });
  },
};
