import { expect } from 'chai';
import fc from 'fast-check';
import { blocklistOf, parseBlocklist } from './blocklist.js';
import { rejection } from '../../ops/test/support/waiting.js';
import { canonicalUrl } from './canonical-url.js';

const listOf = async (...lines: readonly string[]) => {
  const keys = await parseBlocklist([lines.join('\n')]);
  return { entries: keys.entries, has: blocklistOf(keys) };
};

/** The definition of a list: one entry covers the URL. */
const isCovered = (lines: readonly string[], url: string): boolean => {
  const { host, port, path } = canonicalUrl(new URL(url));
  return lines.some((line) => {
    const entry = canonicalUrl(new URL(`http://${line}`));
    if (entry.port === '' && !/[/?]/.test(line)) return `.${host}`.endsWith(`.${entry.host}`);
    const isPort = entry.port === '' || entry.port === port;
    return host === entry.host && isPort && path.startsWith(entry.path);
  });
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
    it(`covers URLs by the entry ${entry}`, async () => {
      const list = await listOf(entry);
      expect(covered.filter((url) => !list.has(url))).to.deep.equal([]);
      expect(free.filter((url) => list.has(url))).to.deep.equal([]);
    });
  }

  it('skips comments, empty lines and white space', async () => {
    const list = await listOf(
      '\ufeff# title',
      '',
      '  evil.example \t# why',
      '\t',
      'bad.example/#x\r',
    );
    expect(list.entries).to.equal(2);
    expect(list.has('https://evil.example/')).to.be.true;
    expect(list.has('https://bad.example/page')).to.be.true;
  });

  it('may be empty', async () => {
    expect((await listOf('')).has('https://example.com/')).to.be.false;
  });

  it('reports the line of an invalid entry', async () => {
    for (const entry of [
      ...['two words', 'ftp://evil.example/', 'https://', '/path', '?', 'user@evil.example'],
      ...['evil.example\\path', 'evil.example:port', 'a..b:99999', '[::1', '.'],
      ...['https://https://evil.example', `${'a.'.repeat(127)}b`],
    ]) {
      const chunks = ['good.exam', 'ple\r', '\n# why\r', entry];
      expect(await rejection(parseBlocklist(chunks))).to.include({
        message: `line 3 is neither a host nor a URL prefix: ${entry}`,
      });
    }
  });

  it('covers the URLs that one of its entries covers', async () => {
    const host = fc.oneof(
      fc.array(fc.constantFrom('a', 'b', 'a-', 'ab', '0'), { minLength: 1, maxLength: 3 }),
      fc.constantFrom(['10.0.0.1'], ['10.0.0.11'], ['[::1]'], ['[::11]']),
    );
    const path = fc.array(fc.constantFrom('a', 'b', '/', '.', '?', '%61'), { maxLength: 4 });
    const port = fc.constantFrom('', '', ':80', ':81', ':8');
    const text = fc
      .tuple(host, port, fc.constantFrom('', '/'), path)
      .map(([labels, at, slash, rest]) => {
        const ends = /^[0]$/.test(labels.at(-1) ?? '') ? [...labels, 'x'] : labels;
        return ends.join('.') + at + slash + (slash && rest.join(''));
      });
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 8 }), fc.array(text), async (lines, urls) => {
        const { has } = await listOf(...lines);
        for (const url of urls.map((destination) => `https://${destination}`)) {
          expect(has(url), url).to.equal(isCovered(lines, url));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('covers hosts of old links with more than 253 characters', async () => {
    expect((await listOf('evil.example')).has(`https://${'a.'.repeat(990)}evil.example/`)).to.be
      .true;
  });

  it('takes time that is proportional to the prefixes of one host', async () => {
    // A list of prefixes for each host, copied for each entry, takes 30 s for 60,000 entries.
    const lines = Array.from({ length: 100_000 }, (_, index) => `evil.example/${index}/`);
    const list = await listOf(...lines);
    expect(list.has('https://evil.example/99999/page')).to.be.true;
    expect(list.has('https://evil.example/100000/')).to.be.false;
  });
});
