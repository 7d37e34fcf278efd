/** The script of a thread in a browser: runs the functions of the pool's module. */

import { serveModule } from './serve.js';

serveModule();
