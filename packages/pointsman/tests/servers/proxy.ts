/**
 * A TCP proxy in front of a server, which injects network faults.
 *
 * Invariant: the bytes of a connection arrive in order and without a gap, as in TCP; a fault drops the rest of a
 * connection.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export type { FaultyProxy, FaultyProxy as Proxy };

export async function startProxy(port: number): Promise<FaultyProxy> {
  const proxy = new FaultyProxy(port);
  await proxy.listen();
  return proxy;
}

class FaultyProxy {
  #target: number;
  #delay = 0;
  #holding = false;
  #swallowing = false;
  readonly #listener: Server;
  readonly #connections = new Set<Connection>();

  constructor(target: number) {
    this.#target = target;
    // The end of one direction does not end the other: a socket must not answer it by itself.
    this.#listener = createServer({ allowHalfOpen: true }, (client) => {
      const connection = new Connection(
        client,
        this.#target,
        () => this.#delay,
        () => this.#connections.delete(connection),
      );
      if (this.#swallowing) connection.swallow();
      if (this.#holding) connection.hold();
      this.#connections.add(connection);
    });
  }

  async listen(): Promise<void> {
    this.#listener.listen(0, '127.0.0.1');
    await once(this.#listener, 'listening');
  }

  get port(): number {
    return (this.#listener.address() as { port: number }).port;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** The number of connected clients. */
  get connections(): number {
    return [...this.#connections].filter((connection) => connection.open).length;
  }

  /** Delays every later reply by `ms`; none overtakes another. */
  delayReplies(ms: number): void {
    this.#delay = ms;
  }

  /** Holds replies until `letGo`; commands pass. */
  holdReplies(): void {
    this.#holding = true;
    for (const connection of this.#connections) connection.hold();
  }

  letGo(): void {
    this.#holding = false;
    for (const connection of this.#connections) connection.letGo();
  }

  /** Resets all connections on both sides. */
  cut(): void {
    for (const connection of this.#connections) connection.reset();
  }

  /**
   * While it is on, new connections are accepted and receive nothing. They and the connections that existed when it
   * began stay half-open forever; later ones work.
   */
  blackhole(on: boolean): void {
    this.#swallowing = on;
    if (on) for (const connection of this.#connections) connection.swallow();
  }

  /** Connects later clients to another server. */
  pointAt(port: number): void {
    this.#target = port;
  }

  async stop(): Promise<void> {
    this.#listener.close();
    this.cut();
    await once(this.#listener, 'close');
  }
}

class Connection {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #delay: () => number;
  #swallowed = false;
  #held = false;
  /** Replies in transit, oldest first; undefined marks the end. */
  readonly #replies: { readonly bytes: Buffer | undefined; readonly due: number }[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(client: Socket, target: number, delay: () => number, over: () => void) {
    this.#client = client.setNoDelay(true);
    this.#server = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    this.#server.setNoDelay(true);
    this.#delay = delay;
    client.on('data', (bytes) => {
      if (!this.#swallowed) this.#server.write(bytes);
    });
    this.#server.on('data', (bytes) => this.#reply(bytes));
    client.on('end', () => {
      if (!this.#swallowed) this.#server.end();
    });
    this.#server.on('end', () => this.#reply(undefined));
    client.on('error', () => this.reset());
    this.#server.on('error', () => {
      if (!this.#swallowed) this.reset();
    });
    client.on('close', () => {
      clearTimeout(this.#timer);
      // The server is not notified either that a swallowed connection has ended.
      if (!this.#swallowed) this.#server.destroy();
    });
    for (const socket of [client, this.#server]) {
      socket.on('close', () => {
        if (client.closed && this.#server.closed) over();
      });
    }
  }

  get open(): boolean {
    return !this.#client.destroyed;
  }

  #reply(bytes: Buffer | undefined): void {
    this.#replies.push({ bytes, due: performance.now() + this.#delay() });
    this.#forward();
  }

  #forward(): void {
    clearTimeout(this.#timer);
    if (this.#swallowed || this.#held) return;
    for (let reply = this.#replies[0]; reply; reply = this.#replies[0]) {
      const left = reply.due - performance.now();
      if (left > 0) {
        this.#timer = setTimeout(() => this.#forward(), Math.ceil(left));
        return;
      }
      this.#replies.shift();
      if (reply.bytes) this.#client.write(reply.bytes);
      else this.#client.end();
    }
  }

  hold(): void {
    this.#held = true;
  }

  letGo(): void {
    this.#held = false;
    this.#forward();
  }

  swallow(): void {
    this.#swallowed = true;
  }

  reset(): void {
    this.#client.resetAndDestroy();
    this.#server.resetAndDestroy();
  }
}
