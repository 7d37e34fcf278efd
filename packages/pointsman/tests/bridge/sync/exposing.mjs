/** A worker whose script calls `expose` itself, after an await. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { expose } from 'pointsman/bridge';

await sleep(5);
expose(parentPort, {
  never: () => new Promise(() => {}),
  speak: () => parentPort.postMessage('alive'),
});
