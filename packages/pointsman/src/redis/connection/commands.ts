/** The connection for commands. Invariant: a command is sent once, and has one reply or rejects. */

import { type CommandConnection, type ConnectionEvents, lossOf } from './connection.js';
import { ReconnectingConnection, type ReconnectingSocket } from './reconnecting.js';
import type { Adapter } from './socket.js';

export class Commands extends ReconnectingConnection implements CommandConnection {
  constructor(adapter: Adapter, events: ConnectionEvents, all: Set<ReconnectingConnection>) {
    super(adapter, 'commands', events, all);
  }

  call(key: string, ...command: string[]): Promise<unknown> {
    let place: ReconnectingSocket;
    try {
      place = this.socketTo(key);
    } catch (error) {
      return Promise.reject(error);
    }
    // Not an async function: its own promise and its await would be paid for by each command.
    const send = (): Promise<unknown> =>
      place.current ? place.current.send(command) : Promise.reject(lossOf(place.reason));
    const { held } = place;
    const reply = held ? new Promise((resolve) => held.push(() => resolve(send()))) : send();
    return reply.catch((error) => {
      throw this.explain(key, error);
    });
  }
}
