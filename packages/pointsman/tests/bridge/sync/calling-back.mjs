/** A worker that serves its host and calls it, over two bridges. */
import { parentPort } from 'node:worker_threads';
import { connect, expose } from 'pointsman/bridge';

const host = connect();
expose(parentPort, {
  callBack: () => host.answer(),
  awaitBack: () => host.async.answer(),
  same: (value) => value,
});
