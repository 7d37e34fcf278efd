/** A process that keeps a core busy until it is ended, or whoever started it is gone. */
const lookMilliseconds = 20;
const parent = process.ppid;

process.stdout.write('busy\n', () => {
  while (process.ppid === parent) {
    const until = performance.now() + lookMilliseconds;
    while (performance.now() < until);
  }
});
