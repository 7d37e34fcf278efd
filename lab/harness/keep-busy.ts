/** A process that keeps a core busy until it is ended, or whoever started it is gone. */
const lookMilliseconds = 20;
/** By its number: it may have gone before this process could ask for it. */
const parent = Number(process.argv[2]);

process.stdout.write('busy\n', () => {
  while (process.ppid === parent) {
    const until = performance.now() + lookMilliseconds;
    while (performance.now() < until);
  }
});
