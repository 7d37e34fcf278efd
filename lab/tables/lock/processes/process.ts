/** One process of a cell: ten tasks that lock and unlock until they are stopped. */
import { on } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { usedMicroseconds } from '../../../harness/sample.js';
import { lockSubjectNamed } from '../subjects/index.js';
import { drawFrom, keySetNamed } from '../workloads/keys.js';
import { FileJudge } from './file-judge.js';
import { PermitsJudge } from './permits-judge.js';
import {
  type Command,
  nameOf,
  type Orders,
  processCount,
  type Report,
  type Setting,
  tasksPerProcess,
} from './shared.js';

const { subject, address, namespace, tally, index }: Orders = JSON.parse(process.argv[2] ?? '');
// Two commands may arrive in one turn of a busy event loop.
const commands = on(process, 'message');
const client = await lockSubjectNamed(subject).connect(address, namespace);
process.send?.('ready');
for (;;) {
  const command = await nextCommand();
  if (command.name !== 'begin') break;
  process.send?.(await run(command.setting));
}
process.exit();

async function nextCommand(): Promise<Command> {
  const { value } = await commands.next();
  return value[0];
}

async function run(setting: Setting): Promise<Report> {
  const { permits } = setting;
  const judge =
    permits === undefined
      ? new FileJudge(tally)
      : new PermitsJudge(tally, processCount * tasksPerProcess, permits);
  const pause = setting.pauseMilliseconds;
  const stay = pause === 0 ? undefined : () => sleep(pause);
  const draw = drawFrom(keySetNamed(setting.keySet), `${namespace}:${nameOf(setting)}`);
  const waits: number[] = [];
  const usedBefore = usedMicroseconds();
  let phase: 'before' | 'measured' | 'over' = 'before';
  let turns = 0;

  async function task(_: unknown, number: number): Promise<void> {
    while (phase !== 'over') {
      if (pause > 0) await sleep(pause);
      const keys = draw();
      const askedAt = performance.now();
      const held = await client.lock(keys);
      if (phase !== 'before') waits.push(performance.now() - askedAt);
      if (judge instanceof FileJudge) await judge.turn(stay);
      else await judge.turn(index * tasksPerProcess + number, stay);
      turns++;
      await client.unlock(held);
    }
  }

  const tasks = Promise.all(Array.from({ length: tasksPerProcess }, task));
  await Promise.race([nextCommand(), tasks]);
  const before = turns;
  const startedAt = performance.now();
  phase = 'measured';
  await Promise.race([nextCommand(), tasks]);
  const perSecond = (1_000 * (turns - before)) / (performance.now() - startedAt);
  phase = 'over';
  await tasks;
  judge.close();
  const used = usedMicroseconds() - usedBefore;
  return { perSecond, waits, turns, intruders: judge.intruders, used };
}
