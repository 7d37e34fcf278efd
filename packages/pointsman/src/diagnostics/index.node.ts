/** `pointsman/diagnostics` in Node, and what behaves like it. */

import './platform.node.js';

export * from './index.js';
