import { mkdir, rmdir } from 'node:fs/promises';
import { defineSubject } from '../subject.js';
import { fileFor } from '../subjects/files.js';

export default defineSubject({
  name: 'a directory made and removed',
  role: 'floor',
  note: 'mkdir and rmdir, which lock nothing here: the floor of a lock that is a file.',
  async connect() {
    return {
      async lock([key = '']) {
        const path = fileFor(key);
        await mkdir(path);
        return path;
      },
      unlock: (path) => rmdir(path),
      close: async () => {},
    };
  },
});
