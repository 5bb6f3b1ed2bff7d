import { largeRules } from '../testing/large-rules.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { validateHeaderValue } from 'node:http';
import { locationOf } from '../location.js';
import { parseDestination } from '../parse-url.js';
import { urlFaultOf, type UrlFault, webDestinations } from './link-fields.js';
import { messageOf, specifyMessages, type MessageRows } from '../testing/messages.js';
import { shortenRequest } from './shorten.js';
import { codePoint } from '../testing/code-point.js';

const invalidUrl = 'Please provide a valid URL';
const aliasLength = 'Alias must be between 3 and 50 characters';
const passwordLength = 'Password must be between 4 and 100 characters';
const expiresInLeast = 'expiresIn must be at least 60 seconds (1 minute)';
const maxClicksLeast = 'maxClicks must be at least 1';

const schema = shortenRequest({
  isOwnHost: (destination) => destination.host === 'sho.rt',
  schemes: [],
});
const url = 'https://example.com/a';

const noOptions = {
  ...{ alias: null, password: null, expiresIn: null, expiresAt: null, startsAt: null },
  ...{ maxClicks: null, title: null, note: null, tags: null },
  domain: null,
};

/** Why a URL is refused; `null` if it is accepted. */
const faultOf = (value: unknown, by = schema): UrlFault | null => {
  const [issue] = by.safeParse({ url: value }).error?.issues ?? [];
  return issue ? urlFaultOf(issue) : null;
};

describe('schemas: body of POST /v2/shorten', () => {
  it('has null for absent and null options, and strips unknown fields', () => {
    const parsed = { url, ...noOptions, reuse: false, options: {} };
    const withoutOptions = { url, ...noOptions, rules: null, forwardQuery: false };
    expect(schema.parse({ url, color: 'red', toString: 1 })).to.deep.equal(parsed);
    expect(schema.parse(withoutOptions)).to.deep.equal(parsed);
    expect(schema.parse({ url, reuse: true })).to.deep.equal({ ...parsed, reuse: true });
  });

  it('rejects a link of more than 64 KiB', () => {
    expect(messageOf(schema, { url, rules: largeRules })).to.equal('A link has at most 64 KiB');
    expect(messageOf(schema, { url, rules: largeRules.slice(0, 3) })).to.equal(null);
  });

  it('keeps the options as sent', () => {
    const body = {
      ...{ url, alias: 'Spring_2026-a', password: 'p ü s', expiresIn: 60, maxClicks: 1 },
      ...{ title: '\u{1f511}'.repeat(200), note: 'a\n\tb', tags: ['b', 'a'] },
    };
    const options = { forwardQuery: true };
    const parsed = { ...noOptions, ...body, reuse: false, options };
    expect(schema.parse({ ...body, ...options })).to.deep.equal(parsed);
  });

  const long = (length: number): string => url + 'x'.repeat(length - url.length);
  const longestHost = `${'a.'.repeat(126)}b`;
  const destinations: readonly (readonly [UrlFault | null, ...unknown[]])[] = [
    [
      null,
      ...['http://example.com', 'HTTPS://Example.COM/Path?q=1#f', 'https://example.com:8443/a b'],
      ...['https://пример.рф/путь', 'https://user.example.com/@name', long(2_048)],
      ...['https://example.com?a@b\\c', 'https://example.com#a@b\\c', 'http://localhost:3000'],
      ...['https://example.com/?u=https://sho.rt/a', 'http://intranet/a', 'http://[::1]:8080/'],
      ...['http://192.168.1.10/', `https://${longestHost}/`, `https://${longestHost}./`],
      // By current UTS 46.
      'https://STRA\u1e9eE.de/',
    ],
    ['missing', undefined, null, '', 5, [url]],
    [
      'scheme',
      ...['example.com', '//example.com/', 'ftp://example.com/', 'javascript:alert(1)//https://'],
      ...['https:\n//example.com', 'https:example.com', 'https:/example.com'],
      'https:\\\\example.com',
    ],
    [
      'host',
      ...['https:///example.com', 'https://', 'https://?a=b', 'https://example.com:65536/'],
      ...['http://256.256.256.256/', `https://a${longestHost}/`, `https://a${longestHost}./`],
      ...[`https://${'a.'.repeat(989)}b/`, 'https://a\u200cb.de/'],
    ],
    [
      'userinfo',
      ...['https://user@example.com/', 'https://user:secret@example.com/'],
      ...['https://:secret@example.com/', 'https://@example.com/', 'https://:@example.com'],
    ],
    ['backslash', 'https://example.com\\@evil.example/', 'https://example.com/a\\b'],
    [
      'whitespace',
      ...['https://exa mple.com/', 'https://exam\tple.com/'],
      ...['https://example.com/\r\nSet-Cookie:a=b', 'https://example.com/\u0000'],
      ...['https://example.com/\u0085a', 'https://example.com/\u2028a'],
      'https://example.com/\ud800',
    ],
    // Also if only the normalised URL is too long.
    ['tooLong', long(2_049), 'https://example.com/' + 'ü'.repeat(400)],
    [
      'ownHost',
      ...['https://sho.rt/abc', 'HTTPS://SHO.RT/abc', 'https://%73ho.rt/abc'],
      'https://sho.rt:443/abc',
    ],
  ];
  for (const [fault, ...values] of destinations) {
    for (const value of values) {
      it(`${fault === null ? 'accepts' : `refuses (${fault})`} the URL ${JSON.stringify([value]).slice(1, 60)}`, () => {
        expect(faultOf(value)).to.equal(fault);
        if (fault === null) expect(schema.parse({ url: value })).to.include({ url: value });
        else {
          expect(messageOf(schema, { url: value })).to.equal(
            fault === 'tooLong' ? 'URL must be at most 2048 characters' : invalidUrl,
          );
        }
      });
    }
  }

  it('returns a reason only for the URL', () => {
    const [issue] = schema.safeParse({ url, alias: 'ab' }).error?.issues ?? [];
    expect(issue && urlFaultOf(issue)).to.equal(null);
    const [missing] = schema.safeParse('no object').error?.issues ?? [];
    expect(missing && urlFaultOf(missing)).to.equal('missing');
  });

  it('trims white space and invisible characters around the destination', () => {
    const invisible = [
      '\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e',
      '\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff',
    ].join(' \n');
    for (const character of [...Array.from(invisible), invisible, ' \t\n\u00a0\r\n ']) {
      const sent = `${character}${long(2_048)}${character}`;
      expect(schema.parse({ url: sent }).url, JSON.stringify(character)).to.equal(long(2_048));
    }
    expect(messageOf(schema, { url: invisible })).to.equal(invalidUrl);
    // U+2065 is unassigned, so it is not on the list.
    for (const unchanged of [`${url}\u2065`, `${url}\u200ba`]) {
      expect(schema.parse({ url: unchanged }).url).to.equal(unchanged);
    }
  });

  it('stores title, note and tags trimmed and in NFC', () => {
    const body = {
      url,
      title: ' \u00a0Bu\u0308cher\t',
      note: '\n  u\u0308ber\n zwei Zeilen \n',
      tags: [' o\u0308l ', '\u00f6l', 'a\u0308'],
    };
    expect(schema.parse(body)).to.deep.include({
      title: 'B\u00fccher',
      note: '\u00fcber\n zwei Zeilen',
      tags: ['\u00f6l', '\u00e4'],
    });
  });

  it('counts the stored characters of title, note and tags', () => {
    const decomposed = 'u\u0308';
    for (const [field, length] of [
      ['title', 200],
      ['note', 2_000],
    ] as const) {
      const stored = schema.parse({ url, [field]: ` ${decomposed.repeat(length)} ` })[field];
      expect(stored, field).to.equal('\u00fc'.repeat(length));
      expect(messageOf(schema, { url, [field]: decomposed.repeat(length + 1) })).to.match(
        /must have at most/,
      );
      // U+0958 is two characters in NFC.
      expect(messageOf(schema, { url, [field]: '\u0958'.repeat(length) })).to.match(
        /must have at most/,
      );
    }
    expect(schema.parse({ url, tags: [`\t${decomposed.repeat(50)} `] }).tags).to.deep.equal([
      '\u00fc'.repeat(50),
    ]);
  });

  const fields: Readonly<Record<string, MessageRows>> = {
    alias: [
      [null, 'abc', 'a'.repeat(50), 'A-_9', '---'],
      [aliasLength, '', 'ab', 'a'.repeat(51), ' '.repeat(51)],
      [
        'Alias may only contain letters, numbers, hyphens and underscores',
        ...['a b', 'a.b', 'añb', 'a/b', 'abc\n', 'a+b', '\u0000\u0000\u0000'],
      ],
      ['alias must be a string', 123, true, {}, ['abc']],
    ],
    password: [
      [null, 'abcd', 'x'.repeat(100), '    ', '🔑'.repeat(4), '🔑'.repeat(100)],
      [passwordLength, '', 'abc', 'x'.repeat(101), '🔑🔑', '🔑'.repeat(101)],
      ['password must be a string', 1234, ['abcd']],
    ],
    expiresIn: [
      [null, 60, 61, 315_360_000],
      [expiresInLeast, 59, 59.99, 0, -60, -1e300],
      [
        'expiresIn must be at most 315360000 seconds (10 years)',
        ...[315_360_001, 1e300, 315_360_000.5],
      ],
      ['expiresIn must be a whole number of seconds', 60.5, 3_600.25],
      ['expiresIn must be a number', '60', true, {}, NaN],
    ],
    maxClicks: [
      [null, 1, 2, 1_000_000_000],
      [maxClicksLeast, 0, 0.5, -1],
      ['maxClicks must be at most 1000000000', 1_000_000_001, 1e300],
      ['maxClicks must be an integer', 1.5, 99.9],
      ['maxClicks must be a number', '1', true, []],
    ],
  };
  for (const [field, rows] of Object.entries(fields)) {
    specifyMessages(schema, rows, (value) => ({ url, [field]: value }));
  }
  specifyMessages(schema, [[invalidUrl, null, [], 'https://example.com', 5, undefined, {}]]);

  it('reads expiresAt and startsAt with any offset', () => {
    const now = Date.parse('2026-11-25T12:00:00Z');
    const dated = shortenRequest(webDestinations, () => now);
    const at = (seconds: number): string => new Date(now + seconds * 1_000).toISOString();
    expect(dated.parse({ url, expiresAt: '2026-11-25T18:45:00+05:45' })).to.include({
      expiresAt: '2026-11-25T13:00:00.000Z',
    });
    for (const [message, fields] of [
      [null, { expiresAt: at(60), startsAt: at(59) }],
      [null, { expiresAt: at(315_360_000) }],
      ['expiresAt must be at least 60 seconds (1 minute) ahead', { expiresAt: at(59) }],
      ['expiresAt must be at most 10 years ahead', { expiresAt: at(315_360_001) }],
      ['Give expiresIn or expiresAt, not both', { expiresAt: at(90), expiresIn: 90 }],
      ['startsAt must be before expiresAt', { startsAt: at(90), expiresAt: at(90) }],
      ['startsAt must be before expiresAt', { startsAt: at(90), expiresIn: 90 }],
      ['reuse can only be combined with url and domain', { reuse: true, title: 'x' }],
    ] as const) {
      expect(messageOf(dated, { url, ...fields }), JSON.stringify(fields)).to.equal(message);
    }
    for (const field of ['expiresAt', 'startsAt']) {
      expect(messageOf(dated, { url, [field]: '2027-01-01T00:00:00' })).to.match(
        /^\w+ must be a time in ISO 8601 with an offset/,
      );
    }
  });

  it('names the first invalid field in the order of the specification’s table', () => {
    const wrong = [
      ['url', 'x', invalidUrl],
      ['alias', 'ab', aliasLength],
      ['password', 'abc', passwordLength],
      ['expiresIn', 59, expiresInLeast],
      ['maxClicks', 0, maxClicksLeast],
    ] as const;
    wrong.forEach(([, , message], index) => {
      // In reverse order, so that the order of the body does not decide.
      const later = wrong.slice(index).reverse();
      expect(messageOf(schema, { url, ...Object.fromEntries(later) })).to.equal(message);
    });
  });
});

/** White space and invisible characters at the ends of a text. */
const outer =
  /^[\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069]+|[\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069]+$/g;

describe('schemas: rule for destinations', () => {
  const pieces = fc.constantFrom(
    ...['http://', 'HTTPS://', 'https:', '//', '/', '\\', '@', ':', '?', '#', '%', '%00', '..'],
    ...['[', ']', '::1', ' ', '\t', '\r\n', '\0', '\u2028', '\ufeff', '\ud800', 'ü', '例', '。'],
    ...['exämple.com', '例え。jp', 'ex%C3%A4mple.com', 'faß.de', '[::1]', '%41', ':81'],
    ...['example.com', 'sho.rt', '127.1', '0x7f000001', ':443', 'javascript:', '\u00ad', '\uff0f'],
  );
  const urlLike = fc
    .tuple(
      fc.constantFrom('https://', 'http://', ' https://', ''),
      fc.array(fc.oneof(pieces, fc.string({ unit: codePoint, maxLength: 5 })), { maxLength: 10 }),
    )
    .map(([scheme, rest]) => scheme + rest.join(''));
  const candidates = fc.oneof(
    urlLike,
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
  );

  it('accepts only trimmed destinations without control characters on other hosts, with an equivalent Location', () => {
    let accepted = 0;
    fc.assert(
      fc.property(candidates, (text) => {
        const result = schema.safeParse({ url: text });
        if (!result.success) return;
        accepted += 1;
        const destination = result.data.url;
        expect(destination).to.equal(text.replace(outer, ''));
        expect(destination).to.not.match(/\p{Cc}|\u2028|\u2029/u);
        const location = locationOf(destination);
        validateHeaderValue('Location', location);
        expect(location).to.match(/^https?:\/\/[\x21-\x7e]+$/i);
        const parsed = parseDestination(destination);
        expect(new URL(location).href).to.equal(parsed.href);
        expect(parsed.host).to.not.equal('sho.rt');
        expect(parsed.username + parsed.password).to.equal('');
        expect(destination.isWellFormed()).to.be.true;
      }),
      { numRuns: 250 },
    );
    // Otherwise the property would be vacuous.
    expect(accepted).to.be.greaterThan(25);
  });
});
