/**
 * Several processes with ten tasks each want the same keys: a queue inside one process does not help
 * any more. All settings in turn, with the same processes.
 */
import type { Cell } from '../../../harness/table.js';
import { commandsExecuted } from '../commands.js';
import { Processes } from '../processes/processes.js';
import { mostProcesses, nameOf, type Setting, settings } from '../processes/shared.js';
import { fastestSubjects, handOverInProcess } from '../subjects/index.js';
import { onServer } from './on-server.js';

const warmUp: Setting = { processes: mostProcesses, keySet: '3/5', pauseMilliseconds: 0 };
/** By then the engine has compiled what a turn runs, in each process. */
const warmUpMilliseconds = 2_000;

/** How many times the budget a setting takes. */
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
      // The processes are new, and what they do first says nothing of them.
      for (const setting of [warmUp, ...settings]) {
        // Without a server they cannot exclude each other, and one alone shows the most there is.
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
