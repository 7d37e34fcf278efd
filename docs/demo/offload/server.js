/**
 * A server that hashes a password in three ways, and answers an unrelated ping:
 * `node docs/demo/offload/server.js [port]`. Install and build the packages first: `make setup`.
 */
import { once } from 'node:events';
import bcrypt from 'bcrypt';
import express from 'express';
import { Pool } from 'pointsman/pool';

const pool = new Pool({ module: new URL('./hash.js', import.meta.url) });
const app = express();

// Blocks the whole process meanwhile.
app.get('/sync', (_request, response) => {
  response.send(bcrypt.hashSync('secret', 10));
});

// In Node's own threads: bcrypt is native.
app.get('/async', async (_request, response) => {
  response.send(await bcrypt.hash('secret', 10));
});

// In threads of the pool, which run any function.
app.get('/pool', async (_request, response) => {
  response.send(await pool.run('hash', ['secret', 10]));
});

app.get('/ping', (_request, response) => {
  response.send('pong');
});

const wanted = Number(process.argv[2] ?? 3000);
const server = app.listen(wanted, (error) => {
  if (error) {
    const isTaken = error.code === 'EADDRINUSE';
    console.error(isTaken ? `Port ${wanted} is taken: name another.` : error.message);
    process.exitCode = 1;
    return;
  }
  const address = `http://localhost:${server.address().port}`;
  const load = (route) => `  ab -k -c 20 -n 250 ${address}/${route}`;
  console.log(`Listening on ${address}. Hash in one terminal:

${['sync', 'async', 'pool'].map(load).join('\n')}

and measure in a second one how long other requests wait:

  ab -c 1 -n 50 ${address}/ping

Ctrl-C ends the server. \`ab\` is in Debian's package apache2-utils.`);
});

async function close() {
  // An idle keep-alive connection would keep the server open.
  server.prependListener('request', (_request, response) => {
    response.setHeader('connection', 'close');
  });
  server.close();
  // Running requests still need the pool.
  await once(server, 'close');
  await pool.shutdown();
}

process.once('SIGINT', close);
process.once('SIGTERM', close);
