import { parentPort } from 'node:worker_threads';
import type { TaskName } from '../subject.js';
import * as functions from '../tasks/index.js';

const tasks = { ...functions };

export interface Asked {
  readonly id: number;
  readonly task: TaskName;
  readonly given: never;
}

parentPort?.on('message', ({ id, task, given }: Asked) => {
  if (task === 'moved') parentPort?.postMessage({ id, answer: given }, [given]);
  else parentPort?.postMessage({ id, answer: tasks[task](given) });
});
