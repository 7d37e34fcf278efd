/** A server whose clock can be set while it runs. The clock of the machine stays as it is. */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { availableServers, type Kind } from '../../servers/server.js';

/** The path of the source; it is not copied to the compiled output. */
const source = fileURLToPath(import.meta.url).replace(
  /(?<=\/tests\/faults\/).*/,
  'clock/wrong-time.c',
);

/** Why this machine cannot build one. */
export function missingCompiler(): string | undefined {
  if (process.platform !== 'linux') return 'the clock of a server can only be set on Linux';
  const { error } = spawnSync('cc', ['--version']);
  return error ? 'needs a C compiler, cc' : undefined;
}

export class WrongClock {
  readonly kind: Kind;
  readonly #folder = mkdtempSync(join(tmpdir(), 'pointsman-clock-'));
  readonly #shift: number;

  constructor() {
    const [server] = availableServers();
    if (!server) throw new Error('there is no server whose clock could be set');
    const library = join(this.#folder, 'wrong-time.so');
    const { status, stderr } = spawnSync('cc', ['-shared', '-fPIC', '-o', library, source]);
    if (status !== 0) throw new Error(`cc did not build ${source}: ${stderr}`);
    const shift = join(this.#folder, 'shift');
    writeFileSync(shift, Buffer.alloc(8));
    this.#shift = openSync(shift, 'r+');
    const path = join(this.#folder, 'server');
    const environment = `LD_PRELOAD='${library}' WRONG_TIME='${shift}'`;
    const script = `#!/bin/sh\n${environment} exec '${server.path}' "$@"\n`;
    writeFileSync(path, script, { mode: 0o755 });
    this.kind = { ...server, path };
  }

  set(milliseconds: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(milliseconds) * 1_000n);
    writeSync(this.#shift, bytes, 0, bytes.length, 0);
  }

  remove(): void {
    closeSync(this.#shift);
    rmSync(this.#folder, { recursive: true });
  }
}
