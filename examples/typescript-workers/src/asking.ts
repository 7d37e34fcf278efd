/** A worker that asks its host. */
import { connect } from 'pointsman/bridge';
import type { Api } from './main.js';
import { shout } from './shout.js';

const host = connect<Api>();
await host.ready;
host.print(shout(`the answer is ${host.double(21)}`));
host.close();
