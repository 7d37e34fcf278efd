/**
 * Serves the demo with the headers for shared memory: `node docs/demo/bridge/serve.js [port]`.
 * The package has to be built: `make setup`.
 */
import { createReadStream, existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, normalize, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const built = fileURLToPath(new URL('../../../packages/pointsman/dist/', import.meta.url));
const types = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript' };

if (!existsSync(`${built}bridge.js`)) {
  console.error('The package is not built: run `make setup` first.');
  process.exit(1);
}

/** Returns the path of a request, or undefined for an invalid URL. */
function pathOf(url) {
  try {
    const { pathname } = new URL(`http://localhost${url}`);
    return normalize(decodeURIComponent(pathname === '/' ? '/index.html' : pathname));
  } catch {
    return undefined;
  }
}

const server = createServer((request, response) => {
  const path = pathOf(request.url);
  if (path === undefined) {
    response.writeHead(400).end();
    return;
  }
  const file = path.startsWith(`${sep}pointsman${sep}`)
    ? built + path.slice('/pointsman/'.length)
    : here + path.slice(1);
  const type = types[extname(file)];
  if (type === undefined || !existsSync(file)) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, {
    'content-type': `${type}; charset=utf-8`,
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-embedder-policy': 'require-corp',
    'cross-origin-resource-policy': 'same-origin',
  });
  createReadStream(file).pipe(response);
});

server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  const { port } = server.address();
  console.log(`http://localhost:${port}/`);
});
