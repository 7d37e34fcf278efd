/**
 * An image service: it makes thumbnails in a pool of threads.
 *
 *     npm run build
 *     npm start
 *     curl --data-binary @photo.jpg 'http://localhost:3000/thumbnail?width=200' > thumbnail.jpg
 *
 * After SIGTERM it answers the requests received so far.
 */
import type { AddressInfo } from 'node:net';
import { Pool } from 'pointsman/pool';
import { imageServer, type Thumbnails } from './server.js';

const pool: Thumbnails = new Pool({
  module: new URL('./thumbnail.js', import.meta.url),
  minThreads: 1, // so that the first client need not wait for a thread to start
  maxWaiting: 100, // further requests are refused, with a 503, rather than to wait for very long
});
const server = imageServer(pool, { timeout: 30_000 });
server.listen(Number(process.env.PORT ?? 3_000), () => {
  console.log(`http://localhost:${(server.address() as AddressInfo).port}`);
});

process.once('SIGTERM', () => {
  server.close(() => pool.shutdown());
});
