/** Node, Bun and Deno. */

import { AsyncLocalStorage } from 'node:async_hooks';
import * as channels from 'node:diagnostics_channel';
import * as v8 from 'node:v8';
import { channelsOf, usePlatform } from './platform.js';

// A namespace import, because importing a name that the runtime's module lacks is an error.
const { promiseHooks } = v8;

usePlatform({
  createStore: () => new AsyncLocalStorage(),
  channel: channelsOf(channels),
  hookPromises: promiseHooks && ((hooks) => promiseHooks.createHook({ ...hooks }) as () => void),
});
