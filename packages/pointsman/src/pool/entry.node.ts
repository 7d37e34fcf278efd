/** The script of a thread in Node: runs the functions of the pool's module. */

import '../transport/platform.node.js';
import './platform.node.js';
import './entry.js';
