/** A worker that asks the page how wide its words are. */
import { connect } from 'pointsman/bridge';
import type { Api } from './main';

const host = connect<Api>();
await host.ready;

const words = await host.async.words();
// Calls can block if the page has shared memory; otherwise they are promises.
const widths = crossOriginIsolated
  ? words.map((word) => host.width(word))
  : await Promise.all(words.map((word) => host.async.width(word)));
const widest = words[widths.indexOf(Math.max(...widths))];
await host.async.show(
  `${widest} is widest, by ${crossOriginIsolated ? 'calls that block' : 'promises'}`,
);
host.close();
