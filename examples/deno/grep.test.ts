/** Runs the command as a user does. It may also read node_modules, which is one folder up here. */
import assert from 'node:assert/strict';

async function grep(pattern: string): Promise<string> {
  const run = ['run', '--no-prompt', '--allow-read=.,../node_modules/pointsman', 'grep.ts'];
  const command = new Deno.Command('deno', { args: [...run, pattern, 'fish'], stderr: 'inherit' });
  const { success, stdout } = await command.output();
  assert.ok(success);
  return new TextDecoder().decode(stdout);
}

Deno.test('it prints the matching lines', async () => {
  assert.equal(await grep('fish$'), 'fish/lines.txt: one fish\nfish/lines.txt: two fish\n');
});

Deno.test('a pattern that never finishes is cancelled', async () => {
  assert.equal(await grep('^(a+)+$'), 'fish/slow.txt: given up after 5 seconds\n');
});
