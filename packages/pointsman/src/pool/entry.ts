/** The script of a thread in a browser: runs the functions of the module that it is told. */

import { serveModule } from './serve.js';

serveModule();
