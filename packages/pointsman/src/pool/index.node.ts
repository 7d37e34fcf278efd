/** `pointsman/pool` in Node, and what behaves like it. */

import '../transport/platform.node.js';
import './platform.node.js';
import './start.node.js';

export * from './index.js';
