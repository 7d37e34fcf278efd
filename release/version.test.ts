/** The version reaches the release exactly as typed: neither make nor the shell expands it. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

test.each(['0.2.0', '', '"; echo "more', '`echo more`', '$(echo more)', '$(shell echo more)', "'"])(
  'VERSION=%s',
  (version) => {
    // A program that prints its arguments replaces the release tool.
    const print = 'node -e "console.log(JSON.stringify(process.argv.slice(1)))" --';
    const given = [`VERSION=${version}`, `RELEASE=${print}`, '--assume-old=release-tool'];
    const output = execFileSync('make', ['--silent', 'release', ...given], {
      cwd: join(import.meta.dirname, '..'),
      encoding: 'utf8',
    });
    expect(JSON.parse(output)).toEqual(['make', '--version', version]);
  },
);
