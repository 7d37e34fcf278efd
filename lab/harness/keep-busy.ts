/** A process that keeps a core busy until it is ended or its parent has ended. */
const lookMilliseconds = 20;
/** By its id: the parent may end before this process can read it. */
const parent = Number(process.argv[2]);

process.stdout.write('busy\n', () => {
  while (process.ppid === parent) {
    const until = performance.now() + lookMilliseconds;
    while (performance.now() < until);
  }
});
