/**
 * The server: it reads the image, runs the pool's function and answers. Only threads compute, so other requests are
 * answered at once.
 *
 * Invariant: each request is answered, unless its client has disconnected; then its task is cancelled.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { arrayBuffer } from 'node:stream/consumers';
import { type Pool, QueueFullError, TimeoutError } from 'pointsman/pool';

export type Thumbnails = Pool<typeof import('./thumbnail.js')>;

export interface ServerOptions {
  /** Maximum milliseconds of an image's wait for a thread, and again of the work on it. */
  readonly timeout: number;
}

const maxBytes = 10_000_000;

export function imageServer(pool: Thumbnails, { timeout }: ServerOptions): Server {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = '', base] = [request.url, 'http://localhost'];
    if (!URL.canParse(path, base)) return end(response, 400);
    const url = new URL(path, base);
    if (url.pathname === '/health') {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ running: pool.running, waiting: pool.waiting }));
      return;
    }
    if (url.pathname !== '/thumbnail' || request.method !== 'POST') return end(response, 404);
    const width = Number(url.searchParams.get('width') ?? 200);
    if (!Number.isInteger(width) || width < 1 || width > 2_000) return end(response, 400);
    const length = Number(request.headers['content-length'] ?? Number.NaN);
    if (Number.isNaN(length)) return end(response, 411);
    if (length > maxBytes) return end(response, 413);

    const client = new AbortController();
    response.once('close', () => client.abort());
    const image = new Uint8Array(await arrayBuffer(request));
    const result = await pool.run('thumbnail', [image, width], {
      signal: client.signal,
      timeout,
      runTimeout: timeout,
      key: request.headers['x-api-key'] ?? request.socket.remoteAddress, // clients take turns
      transfer: [image.buffer],
    });
    response.setHeader('content-type', 'image/jpeg');
    response.end(result);
  }

  return createServer((request, response) => {
    answer(request, response).catch((error) => {
      if (response.destroyed) return; // the client has disconnected
      if (error instanceof QueueFullError) {
        response.setHeader('retry-after', '1');
        end(response, 503);
      } else if (error instanceof TimeoutError) {
        end(response, 504);
      } else if (error.code === 'BAD_IMAGE') {
        end(response, 415);
      } else {
        console.error(error);
        end(response, 500);
      }
    });
  });
}

function end(response: ServerResponse, status: number): void {
  response.writeHead(status).end();
}
