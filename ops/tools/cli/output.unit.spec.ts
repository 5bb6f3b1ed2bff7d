import { expect } from 'chai';
import { count, counted, formatFields, table } from './output.js';

describe('CLI: text output', () => {
  it('groups thousands, and forms the plural', () => {
    expect(count(1_234_567)).to.equal('1,234,567');
    expect(counted(0, 'link')).to.equal('0 links');
    expect(counted(1, 'link')).to.equal('1 link');
    expect(counted(5_000, 'call')).to.equal('5,000 calls');
  });

  it('aligns columns by their widest cell, and numbers to the right', () => {
    const text = table(
      ['NAME', 'CALLS', 'PLAN'],
      [
        ['a long name', '7', 'PRO'],
        ['b', '1,234,567', 'FREE'],
        ['c', '-', 'PRO'],
      ],
    );
    expect(text.split('\n')).to.deep.equal([
      'NAME             CALLS  PLAN',
      'a long name          7  PRO',
      'b            1,234,567  FREE',
      'c                    -  PRO',
    ]);
    expect(table(['NAME', 'LAG'], [])).to.equal('NAME  LAG');
  });

  it('prints one field a line', () => {
    const lines = formatFields([
      ['id', '7'],
      ['created', 'today'],
    ]);
    expect(lines).to.equal('id       7\ncreated  today');
  });
});
