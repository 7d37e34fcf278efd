/** A server that limits requests, as one of several processes. Tells its parent where it listens. */
import { once } from 'node:events';
import fastifyRateLimit from '@fastify/rate-limit';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import fastify from 'fastify';
import { Redis } from 'ioredis';
import { host } from 'pointsman/host';
import { redis } from 'pointsman/redis';
import { expressRateLimitStore, fastifyRateLimitStore } from 'pointsman/shared';

const { framework, namespace, directory, port, limit, window } = JSON.parse(process.argv[2]);
const store =
  port === undefined ? host(namespace, { directory }) : redis(new Redis(port), { namespace });

// A busy machine may take longer than the default for the first connection.
const patience = { deadline: 10_000 };
const keyGenerator = (request) => request.headers['x-api-key'];

const frameworks = {
  async express() {
    const app = express();
    const counts = expressRateLimitStore(store, 'web', patience);
    app.use(rateLimit({ windowMs: window, limit, store: counts, keyGenerator }));
    app.get('/', (_, response) => void response.send('hello'));
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${server.address().port}`;
  },
  async fastify() {
    const app = fastify();
    const counts = fastifyRateLimitStore(store, 'web', patience);
    const options = { timeWindow: window, max: limit, store: counts, keyGenerator };
    await app.register(fastifyRateLimit, options);
    app.get('/', async () => 'hello');
    return app.listen({ port: 0, host: '127.0.0.1' });
  },
};

process.on('disconnect', () => process.exit());
process.send(await frameworks[framework]());
