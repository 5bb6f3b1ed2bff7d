import { expect } from 'chai';
import { count, counted, facts, table } from './output.js';

describe('CLI: output for people', () => {
  it('groups thousands, and knows one from many', () => {
    expect(count(1_234_567)).to.equal('1,234,567');
    expect(counted(0, 'link')).to.equal('0 links');
    expect(counted(1, 'link')).to.equal('1 link');
    expect(counted(5_000, 'call')).to.equal('5,000 calls');
  });

  it('makes columns as wide as their widest cell, numbers to the right', () => {
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
  });

  it('shows the head alone where there are no rows', () => {
    expect(table(['NAME', 'LAG'], [])).to.equal('NAME  LAG');
  });

  it('puts one fact on a line', () => {
    const lines = facts([
      ['id', '7'],
      ['created', 'today'],
    ]);
    expect(lines).to.equal('id       7\ncreated  today');
  });
});
