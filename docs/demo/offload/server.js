/**
 * A server that hashes a password in three ways, and answers a ping that has nothing to do with it:
 * `node docs/demo/offload/server.js [port]`. The packages have to be installed and built: `make setup`.
 */
import { once } from 'node:events';
import bcrypt from 'bcrypt';
import express from 'express';
import { Pool } from 'pointsman/pool';

const pool = new Pool({ module: new URL('./hash.js', import.meta.url) });
const app = express();

// Nothing else happens in this process meanwhile.
app.get('/sync', (_request, response) => {
  response.send(bcrypt.hashSync('secret', 10));
});

// In threads of Node's own, which bcrypt uses because it is native.
app.get('/async', async (_request, response) => {
  response.send(await bcrypt.hash('secret', 10));
});

// In threads of the pool, which would do the same for any function.
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
  console.log(`${address} is there. Hash in one terminal:

${['sync', 'async', 'pool'].map(load).join('\n')}

and see in a second one how long others wait meanwhile:

  ab -c 1 -n 50 ${address}/ping

Ctrl-C ends the server. \`ab\` is in Debian's package apache2-utils.`);
});

async function close() {
  // A connection that is kept for further requests would keep the server.
  server.prependListener('request', (_request, response) => {
    response.setHeader('connection', 'close');
  });
  server.close();
  // Requests that are under way still need the pool.
  await once(server, 'close');
  await pool.shutdown();
}

process.once('SIGINT', close);
process.once('SIGTERM', close);
