/** The package has types of its adapter for require only. */
declare module 'comlink/dist/esm/node-adapter.mjs' {
  export default function nodeEndpoint(end: unknown): import('comlink').Endpoint;
}
