/** Where a thread of a browser hears of its test. */
import type { Scope } from './thread.js';

export const scope: Scope = {
  listen: (listener) => globalThis.addEventListener('message', ({ data }) => listener(data)),
  post: (message) => (globalThis as unknown as Worker).postMessage(message),
  letGo() {},
  collectGarbage() {
    throw new Error('a page cannot ask for garbage to be collected');
  },
};
