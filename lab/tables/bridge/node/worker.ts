/** One worker of Node. */
import { parentPort, workerData } from 'node:worker_threads';
import { obey } from '../caller/obey.js';
import { subjectNamed } from '../subjects/index.js';
import type { WorkerTask } from './ground.js';
import { nodeThread } from './thread.js';

const task: WorkerTask = workerData;
if (!parentPort) throw new Error('expected to be run in a worker');
const place = { platform: 'Node', thread: nodeThread(parentPort), raw: parentPort } as const;
await obey(subjectNamed(task.subject), place, task);
