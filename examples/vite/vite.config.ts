import { defineConfig } from 'vite';

// With these headers a page has shared memory, and its workers can make blocking calls.
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

export default defineConfig({
  server: { headers },
  preview: { headers },
  // Otherwise a worker is built as a classic script, which has no top-level await.
  worker: { format: 'es' },
});
