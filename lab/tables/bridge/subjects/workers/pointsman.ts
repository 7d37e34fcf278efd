import { parentPort, workerData } from 'node:worker_threads';
import { expose } from 'pointsman/bridge';
import * as functions from './functions.js';

if (!parentPort) throw new Error('expected to be run in a worker');
expose(parentPort, functions, workerData);
