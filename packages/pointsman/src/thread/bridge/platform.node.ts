/** Node, and what behaves like it: a worker reaches its host by `parentPort`. */

import { type MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads';
import { type Port, usePlatform } from './platform.js';

usePlatform({
  host: (parentPort as Port | null) ?? undefined,
  receive: (port) => receiveMessageOnPort(port as unknown as MessagePort),
});
