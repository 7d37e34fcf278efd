/** The server's end of a socket. */

import type { Socket } from 'node:net';
import type { Reply } from '../shared/protocol/protocol.js';
import { isBatch } from './batch-check.js';
import { encodeFrame, FrameReader, Kind, LONGEST, VERSION } from './frames.js';
import { encodeReply } from './json.js';
import type { Identity } from './processes.js';
import type { Peer, Request, Server } from './server.js';

/** The longest first frame. A client that does not know the secret cannot send more. */
const LONGEST_HELLO = 4_096;
/** The most unread bytes for a client. A stopped client is not sent this much. */
const MOST_UNREAD = 2 ** 26;

export interface Hello {
  readonly version: number;
  readonly secret: string;
  readonly identity: Identity;
}

function readJson(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    return undefined;
  }
}

export class SocketPeer implements Peer {
  identity!: Identity;
  readonly #socket: Socket;
  readonly #server: Server;
  readonly #secret: string;
  readonly #reader = new FrameReader();
  #known = false;
  #bye = false;
  #frames: Buffer[] = [];

  constructor(socket: Socket, server: Server, secret: string) {
    this.#socket = socket;
    this.#server = server;
    this.#secret = secret;
    this.#reader.longest = LONGEST_HELLO;
    socket.on('error', () => {});
    socket.on('close', () => server.leave(this, this.#bye));
    socket.on('data', (chunk) => {
      try {
        this.#reader.read(chunk, (kind, text) => this.#receive(kind, text));
      } catch {
        socket.destroy();
      }
    });
  }

  reply(reply: Reply): void {
    this.#send(Kind.reply, encodeReply(reply));
  }

  done(): void {
    this.#send(Kind.done, '');
  }

  refused(reason: string): void {
    this.#send(Kind.refused, reason);
  }

  message(client: string, text: string): void {
    this.#send(Kind.message, JSON.stringify([client, text]));
  }

  flush(): void {
    const frames = this.#frames;
    this.#frames = [];
    if (this.#socket.destroyed) return;
    this.#socket.write(frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames));
    if (this.#socket.writableLength > MOST_UNREAD) this.#socket.destroy();
  }

  end(): void {
    this.#socket.destroy();
  }

  #send(kind: Kind, text: string): void {
    this.#frames.push(encodeFrame(kind, text));
  }

  #receive(kind: number, text: Buffer): void {
    if (this.#socket.destroyed) return;
    if (!this.#known) this.#greet(kind, text);
    else if (kind === Kind.bye) this.#bye = true;
    else this.#server.request(this, this.#requestOf(kind, text));
  }

  /** Drops a connection whose first frame does not have the secret. */
  #greet(kind: number, text: Buffer): void {
    const { version, secret, identity } = Object(readJson(text)) as Partial<Hello>;
    const { pid, started, space } = Object(identity) as Partial<Identity>;
    if (
      kind !== Kind.hello ||
      version !== VERSION ||
      secret !== this.#secret ||
      !Number.isSafeInteger(pid) ||
      typeof started !== 'string' ||
      typeof space !== 'string'
    ) {
      this.#socket.destroy();
      return;
    }
    this.identity = { pid: pid as number, started, space };
    this.#known = true;
    this.#reader.longest = LONGEST;
    this.#server.join(this);
    this.#server.greet(this);
  }

  #requestOf(kind: number, text: Buffer): Request {
    switch (kind) {
      case Kind.batch: {
        const batch = readJson(text);
        if (isBatch(batch)) return { kind: 'batch', batch, text };
        break;
      }
      case Kind.listen:
        return { kind: 'listen', client: text.toString() };
      case Kind.unlisten:
        return { kind: 'unlisten', client: text.toString() };
      case Kind.ping:
        return { kind: 'ping' };
    }
    return { kind: 'malformed', reason: `what was sent is no request: kind ${kind}` };
  }
}
