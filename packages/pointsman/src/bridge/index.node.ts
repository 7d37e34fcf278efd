/** `pointsman/bridge` in Node, and in what behaves like it. */

import '../transport/platform.node.js';

export * from './index.js';
