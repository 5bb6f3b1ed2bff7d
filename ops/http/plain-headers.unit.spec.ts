import { expect } from 'chai';
import fc from 'fast-check';
import { createHeaderReader } from './plain-headers.js';

const blockOf = (...lines: readonly string[]): string =>
  `${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
/** Reads what stands behind some bytes of the request. */
const readerOf = () => {
  const read = createHeaderReader();
  return (block: string) => {
    const before = 'GET /a HTTP/1.1\r\n';
    return read(Buffer.from(before + block, 'latin1'), before.length);
  };
};
const readOnce = (...lines: readonly string[]) => readerOf()(blockOf(...lines));

const host = 'Host: sho.rt';
const usual = [
  ...[host, 'hOST: a', 'Accept: */*', 'Accept: text/html', 'Cookie: a=b', 'Connection: keep-alive'],
  ...['User-Agent: a', 'User-Agent: b', 'USER-AGENT:c', 'X-Forwarded-For: 192.0.2.1', 'DNT: 1'],
];
const odd = [
  ...['Content-Length: 0', 'Connection: close', 'TE: trailers', 'Empty:', 'Two:  a', 'End: a '],
  ...[
    'No colon',
    ': a',
    'No name : a',
    'Tab: a\tb',
    'Latin: \xe9',
    'Line: a\nb',
    'Return: a\rb',
    '',
  ],
];

describe('platform: plain headers', () => {
  it('gives those that a handler may look at, under their names in lower case', () => {
    expect(readOnce('hOsT: a', 'User-AGENT: x y', 'DNT:1', 'Accept: */*')).to.deep.equal({
      'user-agent': 'x y',
      dnt: '1',
    });
  });

  const kept = [
    ...['user-agent', 'referer', 'accept-language', 'x-forwarded-for', 'x-request-id', 'dnt'],
    ...['sec-gpc', 'sec-purpose', 'purpose', 'x-purpose', 'x-moz'],
  ];
  for (const name of kept) {
    it(`keeps ${name}`, () => {
      expect(readOnce(`${name}: 1`, host)).to.deep.equal({ [name]: '1' });
    });
  }

  const acted = [
    ...['content-length', 'transfer-encoding', 'trailer', 'te', 'expect', 'connection'],
    ...['proxy-connection', 'keep-alive', 'upgrade'],
  ];
  for (const name of acted) {
    it(`leaves ${name} to node:http`, () => {
      expect(readOnce(`${name}: 1`, host)).to.equal(null);
    });
  }

  for (const line of odd) {
    it(`leaves ${JSON.stringify(line)} to node:http`, () => {
      expect(readOnce(host, line)).to.equal(null);
    });
  }

  it('leaves what has no host, or two, or a header twice to node:http', () => {
    expect(readOnce()).to.equal(null);
    expect(readOnce('User-Agent: a')).to.equal(null);
    expect(readOnce(host, host)).to.equal(null);
    expect(readOnce(host, 'DNT: 1', 'dnt: 1')).to.equal(null);
    expect(readOnce(host, 'Cookie: a', 'Cookie: b')).to.deep.equal({});
  });

  it('leaves headers that do not end with the bytes to node:http', () => {
    const whole = blockOf(host, 'DNT: 1');
    for (let end = 0; end < whole.length; end += 1) {
      expect(readerOf()(whole.slice(0, end)), `${end} bytes`).to.equal(null);
    }
    expect(readerOf()(`${whole}G`)).to.equal(null);
  });

  it('does not take a name for another with the same hash', () => {
    // Each step of the hash turns it by five bits: 32 of them are a full turn.
    const same = `${'a'.repeat(32)}${'a'.repeat(32)}dnt`;
    expect(readOnce(host, `${same}: 1`)).to.deep.equal({});
  });

  it('reads headers as if it had read none before', () => {
    const line = fc.oneof(
      { arbitrary: fc.constantFrom(...usual), weight: 15 },
      { arbitrary: fc.constantFrom(...odd), weight: 1 },
    );
    const block = fc.array(line, { maxLength: 5 }).map((lines) => blockOf(host, ...lines));
    let read = 0;
    fc.assert(
      fc.property(fc.array(block, { minLength: 2, maxLength: 6 }), (blocks) => {
        const reader = readerOf();
        for (const one of blocks) {
          const headers = reader(one);
          expect(headers).to.deep.equal(readerOf()(one));
          if (headers) read += 1;
        }
      }),
      { numRuns: 2_000 },
    );
    expect(read).to.be.above(1_000);
  });

  it('gives the same object while they are the same', () => {
    const reader = readerOf();
    const first = reader(blockOf(host, 'DNT: 1'));
    expect(reader(blockOf(host, 'DNT: 1'))).to.equal(first);
    expect(reader(blockOf(host))).to.deep.equal({});
    expect(reader(blockOf(host, 'DNT: 1'))).to.not.equal(first);
  });
});
