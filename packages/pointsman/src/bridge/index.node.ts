/** `pointsman/bridge` in Node and compatible runtimes. */

import '../transport/platform.node.js';
import './module-start.node.js';

export * from './index.js';
