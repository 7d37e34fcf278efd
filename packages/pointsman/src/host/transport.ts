/** A client's end of its connection to a server. */

import { connect, type Socket } from 'node:net';
import type { Batch, Reply } from '../shared/protocol/protocol.js';
import { encodeFrame, FrameReader, Kind, VERSION } from './frames.js';
import { decodeReply } from './json.js';
import { self } from './processes.js';
import type { Peer, Request, Server } from './server.js';
import type { Hello } from './socket-peer.js';

export interface TransportEvents {
  /** The answer to the earliest request without one: a reply if it was a batch, or why it was refused. */
  answered(reply: Reply | undefined, refusal?: string): void;
  message(client: string, text: string): void;
  /** Requests without an answer may or may not have been performed. */
  down(): void;
}

export interface Transport {
  batch(batch: Batch): void;
  send(kind: 'listen' | 'unlisten', client: string): void;
  ping(): void;
  /** Ends the connection, without a call of `down`; with `bye`, because its clients have ended. */
  close(bye: boolean): void;
}

/** A connection to the server in another process or thread. */
export class SocketTransport implements Transport {
  readonly #socket: Socket;
  #events: TransportEvents | undefined;
  readonly #reader = new FrameReader();

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => {
      try {
        this.#reader.read(chunk, (kind, text) => this.#receive(kind, text.toString()));
      } catch {
        socket.destroy();
      }
    });
    socket.on('close', () => this.#events?.down());
  }

  /** Connects; rejects with the error of the system. */
  static open(path: string): Promise<SocketTransport> {
    return new Promise((resolve, reject) => {
      const socket = connect({ path });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject).on('error', () => {});
        resolve(new SocketTransport(socket));
      });
    });
  }

  /** Proves to the server that it may trust this process. Waits for its answer for at most `patience` milliseconds. */
  greet(secret: string, patience: number): Promise<'ready' | 'silent' | 'ended'> {
    return new Promise((resolve) => {
      // If this thread was busy, the answer may be waiting to be read.
      const timer = setTimeout(() => setImmediate(resolve, 'silent'), patience);
      const settle = (outcome: 'ready' | 'ended'): void => {
        clearTimeout(timer);
        this.#events = undefined;
        resolve(outcome);
      };
      const answered = (): void => settle('ready');
      this.#events = { answered, message: () => {}, down: () => settle('ended') };
      const hello: Hello = { version: VERSION, secret, identity: self };
      this.#send(Kind.hello, JSON.stringify(hello));
    });
  }

  /** Starts to deliver events. The server sends nothing before the first request. */
  use(events: TransportEvents): void {
    this.#events = events;
    if (this.#socket.destroyed) queueMicrotask(() => this.#events?.down());
  }

  batch(batch: Batch): void {
    this.#send(Kind.batch, JSON.stringify(batch));
  }

  send(kind: 'listen' | 'unlisten', client: string): void {
    this.#send(Kind[kind], client);
  }

  ping(): void {
    this.#send(Kind.ping, '');
  }

  close(bye: boolean): void {
    this.#events = undefined;
    if (bye) this.#socket.end(encodeFrame(Kind.bye, ''));
    else this.#socket.destroy();
  }

  #send(kind: Kind, text: string): void {
    this.#socket.write(encodeFrame(kind, text));
  }

  #receive(kind: number, text: string): void {
    switch (kind) {
      case Kind.reply:
        this.#events?.answered(decodeReply(text));
        break;
      case Kind.done:
        this.#events?.answered(undefined);
        break;
      case Kind.refused:
        this.#events?.answered(undefined, text);
        break;
      case Kind.message: {
        const [client, message] = JSON.parse(text) as [string, string];
        this.#events?.message(client, message);
        break;
      }
      default:
        this.#socket.destroy();
    }
  }
}

/** A connection to a server in this thread. */
export class DirectTransport implements Transport, Peer {
  readonly identity = self;
  readonly #server: Server;
  #events!: TransportEvents;
  #calls: (() => void)[] = [];

  constructor(server: Server) {
    this.#server = server;
  }

  use(events: TransportEvents): void {
    this.#events = events;
    this.#server.join(this);
  }

  batch(batch: Batch): void {
    this.#request({ kind: 'batch', batch, text: JSON.stringify(batch) });
  }

  send(kind: 'listen' | 'unlisten', client: string): void {
    this.#request({ kind, client });
  }

  ping(): void {
    this.#request({ kind: 'ping' });
  }

  close(bye: boolean): void {
    this.#server.leave(this, bye);
  }

  #request(request: Request): void {
    this.#server.request(this, request);
  }

  // --- called by the server ---

  reply(reply: Reply): void {
    this.#calls.push(() => this.#events.answered(reply));
  }

  done(): void {
    this.#calls.push(() => this.#events.answered(undefined));
  }

  refused(reason: string): void {
    this.#calls.push(() => this.#events.answered(undefined, reason));
  }

  message(client: string, text: string): void {
    this.#calls.push(() => this.#events.message(client, text));
  }

  flush(): void {
    const calls = this.#calls;
    this.#calls = [];
    for (const call of calls) call();
  }

  end(): void {
    this.#events.down();
  }
}
