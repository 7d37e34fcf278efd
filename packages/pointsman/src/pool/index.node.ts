/** `pointsman/pool` for Node, Bun and Deno. */

import '../transport/platform.node.js';
import './platform.node.js';
import './start.node.js';

export * from './index.js';
