/**
 * A web service for Bun that counts the words of a text:
 *
 *     bun run server.ts
 *     curl --data-binary @book.txt http://localhost:3000/words
 *
 * All texts together may take 64 MB of memory. A text that does not fit waits, before it is read, until others are done;
 * while 100 texts wait, further ones get 503 with Retry-After. Threads count the words, so the server stays responsive.
 */
import { QueueFullError, Semaphore } from 'pointsman';
import { Pool } from 'pointsman/pool';

const megabytes = new Semaphore(Number(Bun.env.MEGABYTES ?? 64), {
  maxWaiting: Number(Bun.env.MAX_WAITING ?? 100),
});
const pool = new Pool<typeof import('./words.ts')>({
  module: new URL('./words.ts', import.meta.url),
});

async function words(request: Request): Promise<Response> {
  const length = Number(request.headers.get('content-length') ?? Number.NaN);
  if (Number.isNaN(length)) return new Response(null, { status: 411 });
  const permits = Math.max(1, Math.ceil(length / 1_000_000));
  if (permits > megabytes.limit) return new Response(null, { status: 413 });
  const { signal } = request; // aborts when the client leaves
  const count = async () => {
    const text = new Uint8Array(await request.arrayBuffer());
    return pool.run('count', [text], { signal, transfer: [text.buffer] });
  };
  try {
    return Response.json(await megabytes.run(count, { permits, signal }));
  } catch (error) {
    if (!(error instanceof QueueFullError)) throw error;
    return new Response(null, { status: 503, headers: { 'retry-after': '1' } });
  }
}

const server = Bun.serve({
  port: Number(Bun.env.PORT ?? 3000),
  maxRequestBodySize: megabytes.limit * 1_000_000,
  routes: {
    '/words': { POST: words },
    '/status': () => Response.json({ free: megabytes.available, waiting: megabytes.waiting }),
  },
});
console.log(`${server.url}`);

process.once('SIGTERM', async () => {
  await server.stop(); // answers the requests received so far
  await pool.shutdown();
});
