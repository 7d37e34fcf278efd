/**
 * The command that repeats a measurement, to be typed at the root of the repository.
 */
export function repeatCommand(
  variables: Readonly<Record<string, string | number | undefined>>,
): string {
  const given = Object.entries(variables).filter(([, value]) => value !== undefined);
  return ['make lab', ...given.map(([name, value]) => `${name}=${quoted(String(value))}`)].join(
    ' ',
  );
}

function quoted(value: string): string {
  return /^[\w@%+:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}
