/** The script of a thread in Node: runs the functions of the module that it is told. */

import '../transport/platform.node.js';
import './platform.node.js';
import './entry.js';
