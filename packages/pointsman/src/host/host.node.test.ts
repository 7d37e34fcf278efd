/** What the store accepts and refuses: options, folders, users, and what others write to its socket. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { currentServer, folderIn, Process, temporaryFolder } from '../../tests/host/processes.js';
import { SharedMutex, StoreError } from '../shared/index.js';
import { encodeFrame, Kind, VERSION } from './frames.js';
import { host } from './index.js';
import { self } from './processes.js';

/** A mutex on a store of its own, which is closed after the test. */
function mutexIn(directory: string, namespace = 'test', ttl = 1_000): SharedMutex {
  const store = host(namespace, { directory, ttl });
  onTestFinished(() => store.close());
  return new SharedMutex(store, { mode: 'strict' });
}

test('invalid arguments are refused with their values', () => {
  const invalid: [unknown, unknown, string][] = [
    [undefined, undefined, 'namespace must be a non-empty, well-formed string'],
    ['', undefined, 'namespace must be'],
    ['{a}', undefined, 'namespace must be'],
    ['a', { ttl: 1 }, 'ttl must be an integer'],
    ['a', { name: 'a b' }, 'name must be'],
    ['a', { directory: 'relative' }, 'directory must be an absolute path, got "relative"'],
    ['a', { directory: '/a\0b' }, 'directory must be an absolute path'],
    ['a', { directory: 1 }, 'directory must be an absolute path, got 1'],
    ['a', { namespace: 'b' }, 'namespace'],
    ['a', 5_000, 'options'],
  ];
  for (const [namespace, options, message] of invalid) {
    expect(() => host(namespace as string, options as never), message).toThrow(message);
  }
});

describe('namespaces', () => {
  test.each([
    ['of any characters', 'a/../b c\n\0"€😀'],
    ['of 10,000 characters', 'n'.repeat(10_000)],
  ])('%s', async (_, namespace) => {
    const directory = temporaryFolder();
    const [a, b] = [mutexIn(directory, namespace), mutexIn(directory, namespace)];
    const guard = await a.lock('k');
    expect(await b.tryLock('k')).toBeUndefined();
    await guard.release();
    await b.run('k', () => {});
  });

  test('are independent', async () => {
    const directory = temporaryFolder();
    const store = host('a', { directory });
    onTestFinished(() => store.close());
    await new SharedMutex(store).lock('k');
    await new SharedMutex(store.withNamespace('b')).lock('k');
    expect(await mutexIn(directory, 'b').tryLock('k')).toBeUndefined();
  });
});

describe('the folder', () => {
  test('is made, and closed to other users', async () => {
    const directory = join(temporaryFolder(), 'new');
    await mutexIn(directory).run('k', () => {});
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(folderIn(directory)).mode & 0o777).toBe(0o700);
  });

  test('may have a path that is too long for a socket', async () => {
    const directory = join(temporaryFolder(), 'd'.repeat(200));
    const process = await Process.start({ directory, ttl: 5_000 });
    await process.lock('k');
    const mutex = mutexIn(directory, 'test', 5_000);
    expect(await mutex.tryLock('k')).toBeUndefined();
    await process.release('k');
    await mutex.run('k', () => {});
  });

  test('may be reached by a symbolic link', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'real'));
    symlinkSync(join(folder, 'real'), join(folder, 'link'));
    await mutexIn(join(folder, 'real')).lock('k');
    expect(await mutexIn(join(folder, 'link')).tryLock('k')).toBeUndefined();
  });

  const refusalIn = async (directory: string) => {
    const error = await mutexIn(directory)
      .lock('k')
      .catch((reason) => reason);
    expect(error).toBeInstanceOf(StoreError);
    return error.message;
  };

  test('is refused if others can write to it, and accepted when they cannot', async () => {
    const directory = temporaryFolder();
    chmodSync(directory, 0o777);
    const mutex = mutexIn(directory);
    await expect(mutex.lock('k')).rejects.toThrow(/other users can replace what is in it/);
    chmodSync(directory, 0o1777);
    await mutex.run('k', () => {});
    chmodSync(folderIn(directory), 0o755);
    expect(await refusalIn(directory)).toMatch(/its mode is 755, not 700/);
  });

  test('is refused if it is a file, or its parent is missing', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'file'), '');
    expect(await refusalIn(join(folder, 'file'))).toMatch(/cannot hold locks: .*ENOTDIR/);
    expect(await refusalIn(join(folder, 'a', 'b'))).toMatch(/cannot hold locks: .*ENOENT/);
  });

  test.skipIf(process.getuid?.() !== 0)('is refused if it belongs to another user', async () => {
    const directory = temporaryFolder();
    chmodSync(directory, 0o1777);
    await mutexIn(directory).run('k', () => {});
    const other = await Process.start({ directory, ttl: 5_000, uid: 12_345 });
    await expect(other.lock('k')).rejects.toThrow(/StoreError: .*belongs to user 0/);
  });

  test('that is deleted is noticed: its holders lose their locks, and the next ones wait for a lease', async () => {
    const directory = temporaryFolder();
    const [a, b] = [mutexIn(directory), mutexIn(directory)];
    const guard = await a.lock('k');
    for (const name of readdirSync(folderIn(directory))) {
      if (name !== 'namespace') rmSync(join(folderIn(directory), name));
    }
    await new Promise((resolve) => guard.signal.addEventListener('abort', resolve));
    const next = await b.lock('k');
    expect(next.token).toBeGreaterThan(guard.token);
  });
});

test('a directory that is deleted is made again', async () => {
  const directory = join(temporaryFolder(), 'new');
  const mutex = mutexIn(directory);
  const guard = await mutex.lock('k');
  rmSync(directory, { recursive: true });
  await new Promise((resolve) => guard.signal.addEventListener('abort', resolve));
  await mutex.run('k', () => {});
});

describe('the socket', () => {
  /** Connects to the server of the only namespace, and resolves when the server has ended the connection. */
  async function write(directory: string, bytes: Buffer | string): Promise<void> {
    const folder = folderIn(directory);
    const socket = connect(join(folder, currentServer(folder).header.address));
    socket.on('error', () => {}).resume();
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
    socket.write(bytes);
    await closed;
  }

  const hello = (secret: string, version = VERSION) =>
    encodeFrame(Kind.hello, JSON.stringify({ version, secret, identity: self }));

  const secretIn = (directory: string) => currentServer(folderIn(directory)).header.secret;

  test.each([
    ['text', () => 'GET / HTTP/1.1\r\n\r\n'],
    ['a long frame', () => Buffer.from([255, 255, 255, 255, 1])],
    ['no secret', () => hello('')],
    ['another version', (directory: string) => hello(secretIn(directory), VERSION + 1)],
    ['a batch first', () => encodeFrame(Kind.batch, '{}')],
    ['no JSON', () => encodeFrame(Kind.hello, 'hello')],
    ['null', () => encodeFrame(Kind.hello, 'null')],
    [
      'a frame that is too long later',
      (directory: string) => Buffer.concat([hello(secretIn(directory)), Buffer.alloc(5, 255)]),
    ],
  ])('ends a connection that begins with %s', async (_, bytesFor) => {
    const directory = temporaryFolder();
    const mutex = mutexIn(directory);
    const guard = await mutex.lock('k');
    await write(directory, bytesFor(directory));
    expect(guard.valid).toBe(true);
    await guard.release();
    await mutex.run('k', () => {});
  });

  test('refuses a malformed request, and goes on', async () => {
    const directory = temporaryFolder();
    const mutex = mutexIn(directory);
    const guard = await mutex.lock('k');
    const { header } = currentServer(folderIn(directory));
    const socket = connect(join(folderIn(directory), header.address));
    onTestFinished(() => void socket.destroy());
    const valid = {
      session: 'a.0',
      ttl: 1_000,
      incarnation: 0,
      join: 'new',
      secret: 's',
      operations: [],
    };
    const bad = (fields: object) =>
      encodeFrame(Kind.batch, JSON.stringify({ ...valid, ...fields }));
    const lock = { name: 'lock', id: 'a.0/1', tokens: 1, wait: true, keys: ['k'], optional: [] };
    const count = { name: 'count', counter: 'a', by: 1, window: 1, above: 0, growth: 0 };
    const penalize = { name: 'penalize', limiter: 'a', time: 1 };
    const frames = [
      encodeFrame(Kind.batch, '['),
      encodeFrame(Kind.batch, 'null'),
      bad({ session: 'no number' }),
      bad({ ttl: -1 }),
      bad({ join: 'may' }),
      bad({ operations: [{ name: '__proto__' }] }),
      bad({ operations: [null] }),
      bad({ operations: [{ ...lock, keys: [] }] }),
      bad({ operations: [{ ...lock, keys: [1] }] }),
      bad({ operations: [{ ...lock, id: 'a' }] }),
      bad({ operations: [count] }),
      bad({ session: '', join: 'none', operations: [lock] }),
      bad({ session: '', join: 'none', operations: [{ ...count, by: 0.5 }] }),
      bad({ session: '', join: 'none', operations: [count, penalize] }),
      bad({ session: '', join: 'none', operations: [penalize, count] }),
      encodeFrame(99 as never, ''),
    ];
    const kinds: number[] = [];
    let rest = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32LE()) {
        kinds.push(rest[4] as number);
        rest = rest.subarray(5 + rest.readUInt32LE());
      }
    });
    socket.write(Buffer.concat([hello(header.secret), ...frames, encodeFrame(Kind.ping, '')]));
    await expect.poll(() => kinds.length, { timeout: 10_000 }).toBe(frames.length + 2);
    expect(kinds).toEqual([Kind.done, ...frames.map(() => Kind.refused), Kind.done]);
    expect(guard.valid).toBe(true);
    expect((await mutex.query()).waiting).toEqual([]);
  });
});

describe('what an earlier process has left', () => {
  /** Leaves the files of a namespace whose processes have ended. */
  async function leave(): Promise<{ directory: string; folder: string; token: number }> {
    const directory = temporaryFolder();
    const store = host('test', { directory });
    const guard = await new SharedMutex(store).lock('k');
    await store.close();
    return { directory, folder: folderIn(directory), token: guard.token };
  }

  test('a journal without a header: the first locks wait for a lease', async () => {
    const { directory, folder, token } = await leave();
    const { epoch } = currentServer(folder);
    for (const text of ['', 'garbage that is no header', '\x02\0\0\0{}']) {
      rmSync(join(folder, `${epoch}`), { force: true });
      writeFileSync(join(folder, `${epoch + 100}`), text);
      const mutex = mutexIn(directory, 'test', 200);
      const started = performance.now();
      expect((await mutex.lock('k')).token).toBeGreaterThan(token);
      // An earlier holder may still use its lock.
      expect(performance.now() - started).toBeGreaterThan(150);
      await mutex.close();
      rmSync(join(folder, `${currentServer(folder).epoch}`));
    }
  });

  test('a record that was cut off by the death of its process is ignored', async () => {
    const { directory, folder, token } = await leave();
    const { epoch } = currentServer(folder);
    writeFileSync(join(folder, `${epoch}`), Buffer.from([200, 0, 0, 0, 1, 2, 3]), {
      flag: 'a',
      mode: 0o600,
    });
    const guard = await mutexIn(directory).lock('k', { timeout: 5_000 });
    expect(guard.token).toBeGreaterThan(token);
  });

  test('sockets, drafts and journals of earlier epochs are deleted; other files are not', async () => {
    const { directory, folder } = await leave();
    const stale = ['1-abc.socket', '1-abc.draft', '1'];
    for (const name of stale) writeFileSync(join(folder, name), '');
    writeFileSync(join(folder, 'notes.txt'), '');
    await mutexIn(directory).run('k', () => {});
    for (const name of stale) expect(existsSync(join(folder, name)), name).toBe(false);
    expect(existsSync(join(folder, 'notes.txt'))).toBe(true);
  });

  test('a journal of an earlier start of the machine: its locks are over, its tokens are not', async () => {
    const { directory, folder } = await leave();
    const { epoch, header } = currentServer(folder);
    const later = { ...header, boot: 'another', ahead: 4e15 };
    const snapshot = JSON.stringify({
      state: {
        clock: { token: 5e15, time: 1, seen: 1, doubted: false },
        locks: { $map: [['k', { id: 'a.0/1', token: 1 }]] },
        sessions: { $map: [['a.0', { expires: 1e12, incarnation: 0, ttl: 1e9, secret: '' }]] },
        requests: { $map: [] },
      },
      clients: { $map: [] },
    });
    const framed = [JSON.stringify(later), snapshot].map((text) => {
      const head = Buffer.alloc(4);
      head.writeUInt32LE(Buffer.byteLength(text));
      return Buffer.concat([head, Buffer.from(text)]);
    });
    writeFileSync(join(folder, `${epoch + 1}`), Buffer.concat(framed));
    const guard = await mutexIn(directory).lock('k', { timeout: 5_000 });
    expect(guard.token).toBeGreaterThan(5e15);
  });
});

test('a server of another release is refused aloud while it lives', async () => {
  const directory = temporaryFolder();
  await mutexIn(directory).lock('k');
  const folder = folderIn(directory);
  const { epoch, header } = currentServer(folder);
  const text = JSON.stringify({ ...header, version: VERSION + 1 });
  const head = Buffer.alloc(4);
  head.writeUInt32LE(Buffer.byteLength(text));
  writeFileSync(join(folder, `${epoch + 1}`), Buffer.concat([head, Buffer.from(text)]));
  await expect(mutexIn(directory).lock('k')).rejects.toThrow(/another release of pointsman/);
});
