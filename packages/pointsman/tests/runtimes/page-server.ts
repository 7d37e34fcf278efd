/**
 * The server of a page with the tests: it serves the page and its scripts, and receives the output. A browser only
 * needs the address, so any browser works without a driver.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Without the first two a page cannot share memory with its threads. */
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cache-Control': 'no-store',
};

/** An uncaught error ends the run, also a script that the browser cannot parse. */
const page = `<!doctype html><meta charset="utf-8"><title>tests</title><link rel="icon" href="data:,">
<script>
  addEventListener('error', ({ message, error, filename, lineno }) => {
    const body = message + '\\n' + (error?.stack ?? filename + ':' + lineno);
    fetch('/error', { method: 'POST', body });
  });
</script>
<script type="module" src="/tests.mjs"></script>`;

export interface PageServer {
  readonly url: string;
  close(): void;
}

/** `scripts` are files by their names in the page's address. */
export async function servePage(
  scripts: Readonly<Record<string, string>>,
  onLine: (line: string) => void,
  onError: (error: Error) => void,
): Promise<PageServer> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const name = request.url?.slice(1) ?? '';
    if (request.method === 'POST') {
      const body = await text(request);
      if (name === 'error') onError(new Error(`in the page: ${body}`));
      else onLine(body);
      response.writeHead(204, headers).end();
    } else if (name === '') {
      response.writeHead(200, { ...headers, 'Content-Type': 'text/html' }).end(page);
    } else if (name in scripts) {
      const script = await readFile(scripts[name] as string);
      response.writeHead(200, { ...headers, 'Content-Type': 'text/javascript' }).end(script);
    } else {
      response.writeHead(404, headers).end();
    }
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(onError);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    // The name is a secure context in every browser; the number is not.
    url: `http://localhost:${(server.address() as AddressInfo).port}/`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
