import { type TaskFunction, ThreadWorker } from 'poolifier';
import * as functions from '../tasks/index.js';

/** It can only return a copy of a buffer. */
const moved = functions.echo;
const all = Object.entries({ ...functions, moved });

export default new ThreadWorker(
  Object.fromEntries(all.map(([name, run]) => [name, run as TaskFunction<unknown, unknown>])),
);
