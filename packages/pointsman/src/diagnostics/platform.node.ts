/** Node, and what behaves like it. */

import { AsyncLocalStorage } from 'node:async_hooks';
import * as channels from 'node:diagnostics_channel';
import * as v8 from 'node:v8';
import { channelsOf, usePlatform } from './platform.js';

// As a whole: to import what a runtime's module lacks would be an error.
const { promiseHooks } = v8;

usePlatform({
  createStore: () => new AsyncLocalStorage(),
  channel: channelsOf(channels),
  hookPromises: promiseHooks && ((hooks) => promiseHooks.createHook({ ...hooks }) as () => void),
});
