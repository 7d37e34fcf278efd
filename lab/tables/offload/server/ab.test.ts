import { describe, expect, it } from 'vitest';
import { parseReport } from './ab.js';

const printed = `Document Path:          /async
Document Length:        60 bytes

Concurrency Level:      20
Time taken for tests:   10.141 seconds
Complete requests:      250
Failed requests:        0
Keep-Alive requests:    250
Total transferred:      66250 bytes
HTML transferred:       15000 bytes
Requests per second:    24.65 [#/sec] (mean)
Time per request:       811.281 [ms] (mean)
Time per request:       40.564 [ms] (mean, across all concurrent requests)
Transfer rate:          6.38 [Kbytes/sec] received

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0    0   0.5      0       3
Processing:    97  776 120.5    802     874
Waiting:       95  776 120.6    802     874
Total:         97  776 120.3    802     874
`;

describe("ab's report", () => {
  it('is parsed line by line', () => {
    expect(Object.values(parseReport(printed))).toEqual([
      ...[20, 10.141, 250, 0, 250, 66250, 15000, 24.65, 811.281, 40.564, 6.38],
      ...[0, 0, 0.5, 0, 3, 97, 776, 120.5, 802, 874],
      ...[95, 776, 120.6, 802, 874, 97, 776, 120.3, 802, 874],
    ]);
    expect(parseReport(printed)['Processing, +/-sd']).toBe(120.5);
  });

  it('is rejected if a line is missing or a request failed', () => {
    expect(() => parseReport(printed.replace(/^Failed.*$/m, ''))).toThrow('Failed requests');
    expect(() => parseReport(printed.replace(/^Total: .*$/m, ''))).toThrow('no Total');
    expect(() => parseReport(`${printed}Non-2xx responses:      3\n`)).toThrow('2xx');
  });
});
