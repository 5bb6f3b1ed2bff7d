import { expect } from 'chai';
import { domainsOf, parseBlocklist, type Blocklist } from './blocklist.js';

const listOf = (...lines: readonly string[]): Blocklist => {
  const parsed = parseBlocklist(lines.join('\n'));
  if (parsed.type === 'malformed') throw new Error(`line ${parsed.line}: ${parsed.entry}`);
  return parsed.blocklist;
};

type Urls = readonly string[];

/** Entries with URLs that they cover and do not cover. */
const entries: readonly (readonly [entry: string, covered: Urls, free: Urls])[] = [
  [
    'evil.example',
    [
      ...['https://evil.example', 'http://evil.example:8080/a?b#c', 'https://EVIL.example/'],
      ...['https://evil.example./', 'https://www.evil.example/', 'https://a.b.c.evil.example/'],
      ...['https://e%76il.example/', 'https://ｅvil.example/'],
    ],
    [
      ...['https://notevil.example/', 'https://evil.example.org/', 'https://example/'],
      ...['https://good.example/evil.example', 'https://good.example/?evil.example'],
    ],
  ],
  ['https://evil.example', ['http://www.evil.example/a'], ['https://good.example/']],
  ['*.evil.example', ['https://www.evil.example/', 'https://evil.example/'], []],
  ['.EVIL.example', ['https://www.evil.example/'], []],
  ['bücher.example', ['https://xn--bcher-kva.example/', 'https://www.BÜCHER.example/'], []],
  ['xn--bcher-kva.example', ['https://bücher.example/'], []],
  ['zip', ['https://invoice.zip/'], ['https://zip.example/']],
  [
    '10.0.0.1',
    ['http://10.0.0.1/', 'http://167772161/', 'http://0xa.1:99/'],
    ['http://10.0.0.11/', 'http://0.0.0.1/'],
  ],
  ['evil.example/@name', ['https://evil.example/@name/1'], ['https://evil.example/name']],
  ['0.1', ['http://0.0.0.1/'], ['http://10.0.0.1/']],
  ['[2001:db8::1]', ['http://[2001:DB8:0:0::1]/x'], ['http://[2001:db8::2]/']],
  [
    'evil.example/login',
    [
      ...['https://evil.example/login', 'http://evil.example:443/login/now'],
      ...['https://evil.example:444/login', 'https://evil.example/logins?a'],
      ...['https://evil.example/%6Cogin', 'https://evil.example/%256Cogin'],
      ...['https://evil.example/%25256cogin#x', 'https://evil.example//login'],
      ...['https://evil.example/a/../login', 'https://evil.example/a/%2e%2e/login'],
      ...['https://evil.example/a%2f..%2flogin', 'https://evil.example/./login'],
      'https://evil.example\\login',
    ],
    [
      ...['https://evil.example/', 'https://www.evil.example/login', 'https://evil.example/Login'],
      ...['https://evil.example/a/login', 'https://evil.example/?/login'],
    ],
  ],
  [
    'https://evil.example:8443/',
    ['http://evil.example:8443/a'],
    ['https://evil.example/', 'https://www.evil.example:8443/'],
  ],
  ['evil.example/', ['https://evil.example/x'], ['https://www.evil.example/']],
  ['evil.example?a=1', ['https://evil.example/?a=1&b'], ['https://evil.example/?b']],
  ['evil.example/%C3%BC', ['https://evil.example/ü', 'https://evil.example/%c3%bcx'], []],
];

describe('command API: blocklist', () => {
  for (const [entry, covered, free] of entries) {
    it(`covers URLs by the entry ${entry}`, () => {
      const list = listOf(entry);
      expect(covered.filter((url) => !list.has(url))).to.deep.equal([]);
      expect(free.filter((url) => list.has(url))).to.deep.equal([]);
    });
  }

  it('skips comments, empty lines and white space', () => {
    const list = listOf('\ufeff# title', '', '  evil.example \t# why', '\t', 'bad.example/#x\r');
    expect(list.entries).to.equal(2);
    expect(list.has('https://evil.example/')).to.be.true;
    expect(list.has('https://bad.example/page')).to.be.true;
  });

  it('may be empty', () => {
    expect(listOf('').has('https://example.com/')).to.be.false;
  });

  it('reports the line of an invalid entry', () => {
    for (const entry of [
      ...['two words', 'ftp://evil.example/', 'https://', '/path', '?', 'user@evil.example'],
      ...['evil.example\\path', 'evil.example:port', 'a..b:99999', '[::1', '.'],
      ...['https://https://evil.example', `${'a.'.repeat(127)}b`],
    ]) {
      const parsed = parseBlocklist(`good.example\n# why\n${entry}`);
      expect(parsed).to.deep.equal({ type: 'malformed', line: 3, entry });
    }
  });

  it('looks up no domain of more than 253 characters', () => {
    const domains = [...domainsOf(`${'a.'.repeat(100_000)}b`)];
    expect(domains).to.have.lengthOf(127);
    expect(domains.map((domain) => domain.length).sort((a, b) => b - a)[0]).to.equal(253);
    expect(listOf('evil.example').has(`https://${'a.'.repeat(990)}evil.example/`)).to.be.true;
  });
});
