/** The script of the pool's threads in bundled tests. */
import { serve } from 'pointsman/pool';
import { scope } from '../bridge/scope.node.js';
import * as tasks from './tasks.js';

scope.listen((message) => {
  if (Array.isArray(message) && message[0] === 'test') tasks.useBoard(message[1]);
});
serve(tasks);
