/**
 * Serves the demo, with the headers that shared memory takes: `node docs/demo/bridge/serve.js [port]`.
 * The package has to be built: `make setup`.
 */
import { createReadStream, existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, normalize, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const built = fileURLToPath(new URL('../../../packages/pointsman/dist/', import.meta.url));
const types = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript' };

if (!existsSync(`${built}thread/bridge/index.js`)) {
  console.error('The package is not built: run `make setup` first.');
  process.exit(1);
}

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  const path = normalize(decodeURIComponent(pathname === '/' ? '/index.html' : pathname));
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
