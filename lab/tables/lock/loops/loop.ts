/** One event loop of a cell: ten tasks that lock, come in and unlock until they are stopped. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { commandsSent } from '../commands.js';
import { Judge } from '../judge.js';
import { lockSubjectNamed } from '../subjects/index.js';
import { drawFrom, keySetNamed } from '../workloads/keys.js';
import { Board, type LoopData, nameOf, type Order, phases, tasksPerLoop } from './shared.js';

const { subject, address, index, board: memory }: LoopData = workerData;
const board = new Board(memory);
const client = await lockSubjectNamed(subject).connect(address);

parentPort?.on('message', (order: Order) => void obey(order));
parentPort?.postMessage('ready');

async function obey({ setting, judge: judgeMemory }: Order): Promise<void> {
  const judge = new Judge(judgeMemory);
  const pause = setting.pauseMilliseconds;
  const stay = pause === 0 ? undefined : () => sleep(pause);
  const draw = drawFrom(keySetNamed(setting.keySet), nameOf(setting));
  const waits: number[] = [];
  const sentBefore = commandsSent();

  async function task(): Promise<void> {
    while (board.phase !== phases.stop) {
      if (pause > 0) await sleep(pause);
      const keys = draw();
      const askedAt = performance.now();
      const held = await client.lock(keys);
      // Whoever was let in later than the measuring began has waited in it.
      if (board.phase !== phases.warmUp) waits.push(performance.now() - askedAt);
      await judge.turn(stay);
      board.countTurn(index);
      await client.unlock(held);
    }
  }

  await Promise.all(Array.from({ length: tasksPerLoop }, task));
  const report = { waits: Float64Array.from(waits), sent: commandsSent() - sentBefore };
  parentPort?.postMessage(report, [report.waits.buffer]);
}
