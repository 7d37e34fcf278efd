/**
 * The number of commands that a subject costs the server: those that this process sends, a script counting as one, and
 * those that the server executes, each command inside a script counting too.
 *
 * Sent commands are counted at the socket, which every client library uses. Invariant: all connections of this process
 * count alike, and what is sent is not changed.
 */
import { Socket } from 'node:net';
import type { Redis } from 'ioredis';

let sent = 0;

/** A command begins with `*` and its number of arguments; a pipeline holds several. */
const commandStart = /(?:^|\r\n)\*\d+\r\n/g;

const write = Socket.prototype.write;
const counting: (this: Socket, ...input: Parameters<Socket['write']>) => boolean = function (
  ...input
) {
  const [chunk] = input;
  const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('latin1');
  if (text.includes('*')) sent += text.match(commandStart)?.length ?? 0;
  return write.apply(this, input);
};
Socket.prototype.write = counting as Socket['write'];

export function commandsSent(): number {
  return sent;
}

/** The number of commands that the server has executed since its start. This query adds one to both counts. */
export async function commandsExecuted(control: Redis): Promise<number> {
  const found = /total_commands_processed:(\d+)/.exec(await control.info('stats'));
  return Number(found?.[1]);
}
