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
  if (task === 'moved') {
    parentPort?.postMessage({ id, answer: given }, [given]);
    return;
  }
  const answer: unknown = tasks[task](given);
  if (answer instanceof Promise) {
    answer.then((value) => parentPort?.postMessage({ id, answer: value }));
  } else {
    parentPort?.postMessage({ id, answer });
  }
});
