import { expect } from 'chai';
import fc from 'fast-check';
import { createHeaderReader } from './plain-headers.js';

const blockOf = (...lines: readonly string[]): string =>
  `${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
const readerOf = () => {
  const read = createHeaderReader();
  return (block: string) => {
    const before = 'GET /a HTTP/1.1\r\n';
    return read(Buffer.from(before + block, 'latin1'), before.length);
  };
};
const readOnce = (...lines: readonly string[]) => readerOf()(blockOf(...lines));

const host = 'Host: sho.rt';
const onlyHost = { host: 'sho.rt' };
const usual = [
  ...[host, 'hOST: a', 'Accept: */*', 'Accept: text/html', 'Cookie: a=b', 'Connection: keep-alive'],
  ...['User-Agent: a', 'User-Agent: b', 'USER-AGENT:c', 'X-Forwarded-For: 192.0.2.1', 'DNT: 1'],
];
const odd = [
  ...['Content-Length: 0', 'Connection: close', 'TE: trailers', 'Empty:', 'Two:  a', 'End: a '],
  ...['No colon', ': a', 'No name : a', 'Tab: a\tb', 'Latin: \xe9', 'Line: a\nb'],
  ...['Return: a\rb', ''],
];

describe('platform: plain headers', () => {
  it('returns the headers of the handler with lower-case names', () => {
    expect(readOnce('hOsT: a', 'User-AGENT: x y', 'DNT:1', 'Accept: */*')).to.deep.equal({
      host: 'a',
      'user-agent': 'x y',
      dnt: '1',
    });
  });

  it('returns the headers of the handler', () => {
    for (const name of [
      ...['user-agent', 'referer', 'accept-language', 'x-forwarded-for', 'x-forwarded-host'],
      ...['x-request-id', 'dnt', 'sec-gpc', 'sec-purpose', 'purpose', 'x-purpose', 'x-moz'],
    ]) {
      expect(readOnce(`${name}: 1`, host)).to.deep.equal({ [name]: '1', ...onlyHost });
    }
  });

  it('falls back to node:http for headers of the protocol', () => {
    for (const name of [
      ...['content-length', 'transfer-encoding', 'trailer', 'te', 'expect', 'connection'],
      ...['proxy-connection', 'keep-alive', 'upgrade'],
    ]) {
      expect(readOnce(`${name}: 1`, host), name).to.equal(null);
    }
  });

  for (const line of odd) {
    it(`falls back to node:http for ${JSON.stringify(line)}`, () => {
      expect(readOnce(host, line)).to.equal(null);
    });
  }

  it('falls back to node:http without Host, with two, or with a repeated header', () => {
    expect(readOnce()).to.equal(null);
    expect(readOnce('User-Agent: a')).to.equal(null);
    expect(readOnce(host, host)).to.equal(null);
    expect(readOnce(host, 'DNT: 1', 'dnt: 1')).to.equal(null);
    expect(readOnce(host, 'Cookie: a', 'Cookie: b')).to.deep.equal(onlyHost);
  });

  it('falls back to node:http if the headers do not end with the bytes', () => {
    const whole = blockOf(host, 'DNT: 1');
    for (let end = 0; end < whole.length; end += 1) {
      expect(readerOf()(whole.slice(0, end)), `${end} bytes`).to.equal(null);
    }
    expect(readerOf()(`${whole}G`)).to.equal(null);
  });

  it('distinguishes names with the same hash', () => {
    // Each step rotates the hash by five bits: 32 steps are a full rotation.
    const same = `${'a'.repeat(32)}${'a'.repeat(32)}dnt`;
    expect(readOnce(host, `${same}: 1`)).to.deep.equal(onlyHost);
  });

  it('returns the same headers as a new reader', () => {
    const line = fc.oneof(
      { arbitrary: fc.constantFrom(...usual), weight: 15 },
      { arbitrary: fc.constantFrom(...odd), weight: 1 },
    );
    const block = fc.array(line, { maxLength: 5 }).map((lines) => blockOf(host, ...lines));
    let read = 0;
    fc.assert(
      fc.property(fc.array(block, { minLength: 2, maxLength: 6 }), (blocks) => {
        const reader = readerOf();
        for (const headerBlock of blocks) {
          const headers = reader(headerBlock);
          expect(headers).to.deep.equal(readerOf()(headerBlock));
          if (headers) read += 1;
        }
      }),
      { numRuns: 150 },
    );
    expect(read).to.be.above(75);
  });

  it('returns the same object for equal headers', () => {
    const reader = readerOf();
    const first = reader(blockOf(host, 'DNT: 1'));
    expect(reader(blockOf(host, 'DNT: 1'))).to.equal(first);
    expect(reader(blockOf(host))).to.deep.equal(onlyHost);
    expect(reader(blockOf(host, 'DNT: 1'))).to.not.equal(first);
  });
});
