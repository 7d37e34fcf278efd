/** Node, and what behaves like it. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { channel } from 'node:diagnostics_channel';
import { promiseHooks } from 'node:v8';
import { usePlatform } from './platform.js';

usePlatform({
  createStore: () => new AsyncLocalStorage(),
  channel,
  // Elsewhere the module may be there without it.
  hookPromises: promiseHooks && ((hooks) => promiseHooks.createHook({ ...hooks }) as () => void),
});
