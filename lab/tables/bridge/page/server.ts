/** Serves one subject's page from this process, with the headers that allow shared memory. */
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

export interface PageServer {
  readonly url: string;
  stop(): void;
}

const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

const scripts = ['/page.js', '/worker.js'];

export async function servePage(folder: string): Promise<PageServer> {
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    if (scripts.includes(path)) {
      response.writeHead(200, { ...isolation, 'Content-Type': 'text/javascript' });
      createReadStream(join(folder, path)).pipe(response);
    } else {
      response.writeHead(path === '/' ? 200 : 404, { ...isolation, 'Content-Type': 'text/html' });
      response.end('<!doctype html><title>lab</title><body></body>');
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
