/** `pointsman/diagnostics` for Node, Bun and Deno. */

import './platform.node.js';

export * from './index.js';
