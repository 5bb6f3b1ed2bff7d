import { expect } from 'chai';
import { progressLines } from './long-work.js';

describe('CLI: progress without a terminal', () => {
  it('prints a line at the start, then one every three seconds', () => {
    const lines: string[] = [];
    let now = 0;
    const progress = progressLines(
      'stats',
      (line) => lines.push(line),
      () => now,
    );
    progress.update(0, 10_000);
    now = 2_999;
    progress.update(2_000, 10_000);
    now = 3_000;
    progress.update(2_500, 10_001);
    now = 6_500;
    progress.update(10_001, 10_001);
    progress.stop();
    expect(lines).to.deep.equal([
      'stats: 0 of 10,000 events (0 %)\n',
      'stats: 2,500 of 10,001 events (24 %)\n',
      'stats: 10,001 of 10,001 events (100 %)\n',
    ]);
  });

  it('prints 100 % if there are no events', () => {
    const lines: string[] = [];
    progressLines('stats', (line) => lines.push(line)).update(0, 0);
    expect(lines).to.deep.equal(['stats: 0 of 0 events (100 %)\n']);
  });
});
