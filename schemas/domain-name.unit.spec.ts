import { expect } from 'chai';
import fc from 'fast-check';
import { domainNameOf, hostNameOf } from './domain-name.js';
import { codePoint } from './testing/code-point.js';

describe('schemas: domain names', () => {
  for (const [text, name] of [
    ['go.example.com', 'go.example.com'],
    ['GO.Example.COM.', 'go.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['faß.de', 'xn--fa-hia.de'],
    ['go。example。com', 'go.example.com'],
    [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
  ] as const) {
    it(`reads ${text}`, () => {
      expect(domainNameOf(text)).to.equal(name);
    });
  }

  for (const text of [
    ...['', 'localhost', '127.0.0.1', '0x7f.1', '1.2', '[::1]', '::1', 'go.example.com:443'],
    ...['http://go.example.com', 'go.example.com/', 'a@go.example.com', 'go..example.com', '.com'],
    ...[
      '-go.example.com',
      'go-.example.com',
      'go_1.example.com',
      'go example.com',
      'go.example.com..',
    ],
    ...['*.example.com', `${'a'.repeat(64)}.example`, `${'a.'.repeat(125)}example`],
    ...['xn--\ud800.example', '%67o.com'],
  ]) {
    it(`refuses ${JSON.stringify(text.slice(0, 40))}`, () => {
      expect(domainNameOf(text)).to.equal(null);
    });
  }

  for (const [text, name] of [
    ['LocalHost.', 'localhost'],
    ['linklog_edge', 'linklog_edge'],
    ['0x7f.1', '127.0.0.1'],
    ['[0:0::1]', '[::1]'],
    ['::1', null],
    ['[::1]:80', null],
    ['[go.example.com]', null],
    ['a,b', null],
    ['*', null],
    ['', null],
    ['.', null],
  ] as const) {
    it(`reads ${JSON.stringify(text)} as the host ${name}`, () => {
      expect(hostNameOf(text)).to.equal(name);
    });
  }

  it('reads its own results again, for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.domain(), fc.string({ unit: codePoint })), (text) => {
        for (const read of [domainNameOf, hostNameOf]) {
          const name = read(text);
          if (name !== null) expect(read(name)).to.equal(name);
        }
      }),
    );
  });
});
