import { join } from 'node:path';

export default {
  mode: 'production',
  entry: './src/main.ts',
  output: { path: join(import.meta.dirname, 'public/dist') },
  module: {
    rules: [{ test: /\.ts$/, loader: 'esbuild-loader', options: { target: 'es2022' } }],
  },
};
