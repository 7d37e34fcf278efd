/** The package types its adapter only for require. */
declare module 'comlink/dist/esm/node-adapter.mjs' {
  export default function nodeEndpoint(end: unknown): import('comlink').Endpoint;
}
