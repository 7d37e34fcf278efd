/** The script of the thread that serves a namespace. It succeeds the server of the thread that has started it. */

import { parentPort, workerData } from 'node:worker_threads';
import { Place } from './place.js';
import type { Server } from './server.js';
import { find, succeed } from './succession.js';
import type { ThreadData } from './threads.js';

const ATTEMPTS = 100;
const { namespace, directory } = workerData as ThreadData;
const place = Place.open(namespace, directory);
let server: Server | undefined;
// The server of the parent may begin another journal at the same time.
for (let attempt = 0; attempt < ATTEMPTS && server === undefined; attempt++) {
  server = await succeed(place, find(place));
}
parentPort?.postMessage(server !== undefined);
if (server !== undefined) {
  parentPort?.once('message', () => server.close());
  await server.ended;
}
place.close();
// Messages of the parent keep a thread running.
parentPort?.close();
