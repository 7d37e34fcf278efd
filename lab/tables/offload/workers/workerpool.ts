import { Transfer, worker } from 'workerpool';
import * as functions from '../tasks/index.js';

worker({ ...functions, moved: (buffer: ArrayBuffer) => new Transfer(buffer, [buffer]) });
