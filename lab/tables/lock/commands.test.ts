import { once } from 'node:events';
import { createServer, Socket } from 'node:net';
import { expect, it } from 'vitest';
import { commandsSent } from './commands.js';

it('counts sent commands: one, several in a pipeline, none inside an argument', async () => {
  const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = new Socket().connect(server.address() as { port: number });
  await once(socket, 'connect');
  const ping = '*1\r\n$4\r\nPING\r\n';
  const counts = [ping, ping + ping, Buffer.from(ping), '$3\r\na*1\r\n'].map((chunk) => {
    const before = commandsSent();
    socket.write(chunk);
    return commandsSent() - before;
  });
  expect(counts).toEqual([1, 2, 1, 0]);
  socket.destroy();
  server.close();
});
