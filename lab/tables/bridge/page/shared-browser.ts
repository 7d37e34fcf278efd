/**
 * A process with the browser that all cells share: prints its process id and address, and ends with its parent.
 *
 * `node shared-browser.js <Chromium's path>`
 */
import { chromium } from 'playwright-core';
import { launchOptions } from './browser.js';

const server = await chromium.launchServer(launchOptions(process.argv[2] ?? ''));
process.stdin.resume().once('end', () => server.close());
console.log(JSON.stringify({ process: server.process().pid, address: server.wsEndpoint() }));
