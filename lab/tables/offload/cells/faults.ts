/** The behaviour of each pool when a task fails, each fault in a process of its own. */
import { fileURLToPath } from 'node:url';
import { x } from 'tinyexec';
import type { Behaviour, MeasuredCell } from '../../../harness/table.js';
import { faults } from '../faults/faults.js';
import { defaultPools, namesOf } from '../subjects/index.js';

export const faultNames = Object.keys(faults);

const program = fileURLToPath(new URL('../faults/process.js', import.meta.url));
const limitMilliseconds = 8_000;
/** The number of faults tried at once; they mostly wait. */
const atOnce = 3;

export const faultsCell: MeasuredCell = {
  id: 'faults',
  subjects: namesOf(defaultPools),
  whole: 'each fault ends a process',
  expectedMilliseconds: 5_000,
  limitMilliseconds: 60_000,
  async measure(subject) {
    const behaviours: Record<string, Behaviour> = {};
    const waiting = [...faultNames];
    const work = async () => {
      for (let fault = waiting.shift(); fault; fault = waiting.shift()) {
        behaviours[fault] = await tryFault(subject, fault);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    return { ok: true, samples: {}, behaviours };
  },
};

async function tryFault(subject: string, fault: string): Promise<Behaviour> {
  const running = x(process.execPath, [program, subject, fault]);
  let timedOut = false;
  const alarm = setTimeout(() => {
    timedOut = true;
    running.kill('SIGKILL');
  }, limitMilliseconds);
  const { stdout, stderr } = await running;
  clearTimeout(alarm);
  const lastLine = stdout.trimEnd().split('\n').at(-1) ?? '';
  if (lastLine.startsWith('{')) return JSON.parse(lastLine);
  if (timedOut) return { words: 'the main thread hangs', sound: false };
  const error = stderr.split('\n').find((line) => /^\w*Error\b.*:/.test(line));
  return { words: `the process crashes${error ? ` (${error})` : ''}`, sound: false };
}
