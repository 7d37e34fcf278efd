import { defineConfig } from 'vite';

// With these headers a page has shared memory, and its workers can make calls that block.
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

export default defineConfig({
  server: { headers },
  preview: { headers },
  // Else a worker is built as a classic script, where no module can await at its top.
  worker: { format: 'es' },
});
