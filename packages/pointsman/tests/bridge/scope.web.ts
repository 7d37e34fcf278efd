/** The connection of a thread to its test in a browser. */
import type { Scope } from './thread.js';

export const scope: Scope = {
  listen: (listener) => globalThis.addEventListener('message', ({ data }) => listener(data)),
  post: (message) => (globalThis as unknown as Worker).postMessage(message),
  letGo() {},
  collectGarbage() {
    throw new Error('a page cannot collect garbage on request');
  },
};
