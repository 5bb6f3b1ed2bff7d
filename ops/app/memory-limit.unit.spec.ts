import { expect } from 'chai';
import { pino } from 'pino';
import { warnOfMemoryLimit } from './roles.js';

describe('memory limit of everything in one process', () => {
  const linesFor = (limit: number): readonly string[] => {
    const lines: string[] = [];
    warnOfMemoryLimit(pino({}, { write: (line) => lines.push(line) }), limit);
    return lines;
  };

  it('is reported if it is too small', () => {
    const [line = '{}'] = linesFor(256 * 1_024 ** 2);
    expect(JSON.parse(line)).to.include({ level: 40, limit: 256 * 1_024 ** 2 });
  });

  it('is not reported if it suffices, or is unknown', () => {
    for (const limit of [0, 384 * 1_024 ** 2, 2 ** 63]) expect(linesFor(limit)).to.deep.equal([]);
  });
});
