/** The script of the threads that the tests of the pool start where these are bundled. */
import { serve } from 'pointsman/pool';
import { scope } from '../bridge/scope.node.js';
import * as tasks from './tasks.js';

scope.listen((message) => {
  if (Array.isArray(message) && message[0] === 'test') tasks.useBoard(message[1]);
});
serve(tasks);
