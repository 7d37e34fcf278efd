/**
 * Writes down the public types of each entry, as they are published, into the folder that is named: what a change of the
 * API is to a reviewer. `make api` writes them where they are kept, and `make check` compares.
 */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CompilerState, Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import manifest from './package.json' with { type: 'json' };

const folder = resolve(process.argv[2]);
const here = fileURLToPath(new URL('.', import.meta.url));
const silent = { default: { logLevel: 'none' } };

const entries = Object.values(manifest.exports).filter(({ types }) => types);
const configs = entries.map(({ types }) =>
  ExtractorConfig.prepare({
    packageJsonFullPath: `${here}package.json`,
    configObject: {
      projectFolder: here,
      mainEntryPointFilePath: `${here}${types}`,
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            module: 'nodenext',
            target: 'es2022',
            lib: ['es2022', 'dom'],
            types: [],
            skipLibCheck: true,
          },
          files: [types],
        },
      },
      apiReport: {
        enabled: true,
        // What a public type extends is public too.
        includeForgottenExports: true,
        reportFileName: types.replace(/^.*\/(.*)\.d\.ts$/, '$1.api.md'),
        reportFolder: folder,
        reportTempFolder: folder,
      },
      newlineKind: 'lf',
      messages: { extractorMessageReporting: silent, tsdocMessageReporting: silent },
    },
  }),
);

// One program for all: most of the time is spent on the types of the language.
const [first, ...others] = configs;
const compilerState = CompilerState.create(first, {
  additionalEntryPoints: others.map((config) => config.mainEntryPointFilePath),
});
for (const config of configs) {
  const { succeeded } = Extractor.invoke(config, {
    compilerState,
    localBuild: true,
    messageCallback: (message) => {
      // That a report is new or differs; who compares says so.
      if (message.category === 'console') message.logLevel = 'none';
    },
  });
  if (!succeeded) process.exitCode = 1;
}
