/** `pointsman/pool` in Node, and what behaves like it. */

import '../bridge/platform.node.js';
import './platform.node.js';

export * from './index.js';
