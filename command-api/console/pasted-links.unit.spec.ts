import { expect } from 'chai';
import { batchSize, inBatches, readPastedLinks, type PastedText } from './pasted-links.js';

const read = (text: string): PastedText => readPastedLinks(text, false);

/** The rows as lists of URL, alias, title and tags; a message for an invalid one. */
const table = ({ rows }: PastedText) =>
  rows.map((row) => {
    if (row.type === 'invalid') return `${row.row}: ${row.message}`;
    const { url, alias, title, tags } = row.link;
    return [url, alias, title, ...tags];
  });

const [a, b] = ['https://a.example/', 'https://b.example/'];

describe('pasted links', () => {
  it('are one URL per line, with any line ends, without white space and empty lines', () => {
    const pasted = read(` ${a} \r\n\r\n${b}\rnot a URL\n\n`);
    expect(table(pasted)).to.deep.equal([
      [a, null, null],
      [b, null, null],
      ['not a URL', null, null],
    ]);
    expect(pasted.rows.map(({ row }) => row)).to.deep.equal([1, 3, 4]);
    expect(pasted.delimiter).to.equal(null);
  });

  it('keep commas and semicolons of URLs', () => {
    const urls = [`${a}?x=1,2`, b, `${a}y;z`, `${b}@12.5,13.7,15z`];
    expect(table(read(urls.join('\n')))).to.deep.equal(urls.map((url) => [url, null, null]));
  });

  for (const delimiter of ['\t', ';', ',']) {
    it(`have columns with the delimiter ${JSON.stringify(delimiter)} and names of import files`, () => {
      const lines = [
        ['Long URL', 'short_code', 'TITLE', 'clicks', 'Tags'],
        [a, 'one', '"Title ""one"""', '3', '"x, y"'],
        ['', 'two', '', '', ''],
        [b, '', '', '', ''],
        [b, '', '', '', '', 'more'],
        ['"open'],
      ];
      const pasted = read(lines.map((cells) => cells.join(delimiter)).join('\n'));
      expect(table(pasted)).to.deep.equal([
        [a, 'one', 'Title "one"', 'x', 'y'],
        '3: The line has no URL.',
        [b, null, null],
        '5: The line has 6 cells instead of 5.',
        '6: The record has a quote that is not closed.',
      ]);
      expect(pasted).to.deep.include({ delimiter, unusedColumns: ['clicks'] });
    });
  }

  it('have a URL and a code in either order, without a header', () => {
    const rows = [
      [a, 'one', null],
      [b, 'two', null],
    ];
    expect(table(read(`${a};one\n${b};two\n${b}`))).to.deep.equal([...rows, [b, null, null]]);
    expect(table(read(`one\t${a}\ntwo\t${b}`))).to.deep.equal(rows);
    expect(table(read(`https://go.example/one ${a}`))).to.deep.equal(rows.slice(0, 1));
  });

  it('need a URL column, but no column of codes', () => {
    expect(table(read(`title,url\nOne,${a}`))).to.deep.equal([[a, null, 'One']]);
    const urls = [`${a}x,y`, b];
    const rows = urls.map((url) => [url, null, null]);
    expect(table(read(`url\n${urls.join('\n')}`))).to.deep.equal(rows);
  });

  it('are one URL per line if the user does not want columns', () => {
    const lines = [`${a},all`, `${b},new`];
    expect(read(lines.join('\n')).delimiter).to.equal(',');
    const pasted = readPastedLinks(lines.join('\n'), true);
    expect(table(pasted)).to.deep.equal(lines.map((line) => [line, null, null]));
  });

  it('have the URL, alias, title and tags of a spreadsheet without a header', () => {
    const pasted = read(`${a}\tone\tOne\tx, y\nb.example/\t\tTwo\t\n`);
    expect(table(pasted)).to.deep.equal([
      [a, 'one', 'One', 'x', 'y'],
      [b, null, 'Two'],
    ]);
    expect(pasted.rows.map(({ row }) => row)).to.deep.equal([1, 2]);
    expect(pasted.assumedColumns).to.deep.equal(['url', 'code', 'title', 'tags']);
    const aliasFirst = read(`one\t${a}\tOne\ntwo\t${b}\tTwo`);
    expect(table(aliasFirst)).to.deep.equal([
      [a, 'one', 'One'],
      [b, 'two', 'Two'],
    ]);
    // Each title has one space.
    const spaced = read(`${a}\tone\tPoster 1\n${b}\ttwo\tPoster 2`);
    expect(table(spaced)[1]).to.deep.equal([b, 'two', 'Poster 2']);
  });

  it('count columns that have no names', () => {
    expect(read(`${a};one;One\n${b};two;Two`).unnamedColumns).to.equal(3);
    expect(read(`${a}\n${b}`).unnamedColumns).to.equal(0);
  });

  it('are split into batches in order, within the limit of a call', () => {
    const items = Array.from({ length: 2 * batchSize + 1 }, (_, index) => index);
    const batches = inBatches(items);
    expect(batches.flat()).to.deep.equal(items);
    expect(batches.map(({ length }) => length)).to.deep.equal([batchSize, batchSize, 1]);
  });
});
