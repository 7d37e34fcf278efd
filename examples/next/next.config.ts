import type { NextConfig } from 'next';

export default {
  // With these headers a page has shared memory, and its workers can make blocking calls.
  headers: async () => [
    {
      source: '/:path*',
      headers: [
        { key: 'Cross-Origin-Opener-Policy', value: 'same-origin' },
        { key: 'Cross-Origin-Embedder-Policy', value: 'require-corp' },
      ],
    },
  ],
} satisfies NextConfig;
