import { largeRules } from '../testing/large-rules.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { urlFaultOf, type UrlFault } from './link-fields.js';
import { aliasPattern } from '../link-subject.js';
import { shortenRequest } from './shorten.js';
import { codePoint } from '../testing/code-point.js';

const invalidUrl = 'Please provide a valid URL';
const urlTooLong = 'URL must be at most 2048 characters';
const aliasLength = 'Alias must be between 3 and 50 characters';
const aliasCharacters = 'Alias may only contain letters, numbers, hyphens and underscores';
const passwordLength = 'Password must be between 4 and 100 characters';
const expiresInLeast = 'expiresIn must be at least 60 seconds (1 minute)';
const expiresInMost = 'expiresIn must be at most 315360000 seconds (10 years)';
const maxClicksLeast = 'maxClicks must be at least 1';
const maxClicksMost = 'maxClicks must be at most 1000000000';

const schema = shortenRequest((destination) => destination.host === 'sho.rt');
const url = 'https://example.com/a';

/** The first message; `null` for a valid body. */
const messageOf = (body: unknown): string | null => {
  const result = schema.safeParse(body);
  return result.success ? null : (result.error.issues[0]?.message ?? '');
};

const noOptions = {
  ...{ alias: null, password: null, expiresIn: null, expiresAt: null, startsAt: null },
  ...{ maxClicks: null, title: null, note: null, tags: null, rules: null, forwardQuery: null },
  domain: null,
};

describe('schemas: body of POST /v2/shorten', () => {
  it('has null for absent options, and strips unknown fields', () => {
    const body = { url, maxClicks: null, color: 'red', toString: 1 };
    expect(schema.parse(body)).to.deep.equal({ url, ...noOptions, reuse: false });
    expect(schema.parse({ url, reuse: true })).to.deep.equal({ url, ...noOptions, reuse: true });
  });

  it('rejects a link of more than 64 KiB', () => {
    expect(messageOf({ url, rules: largeRules })).to.equal('A link has at most 64 KiB');
    expect(messageOf({ url, rules: largeRules.slice(0, 3) })).to.equal(null);
  });

  it('keeps the options as sent', () => {
    const body = {
      ...{ url, alias: 'Spring_2026-a', password: 'p ü s', expiresIn: 60, maxClicks: 1 },
      ...{ title: '\u{1f511}'.repeat(200), note: 'a\n\tb', tags: ['b', 'a'] },
    };
    const absent = {
      ...{ expiresAt: null, startsAt: null, rules: null, forwardQuery: null },
      domain: null,
    };
    const parsed = { ...body, ...absent, reuse: false };
    expect(schema.parse(body)).to.deep.equal(parsed);
  });

  for (const field of Object.keys(noOptions)) {
    it(`treats null in ${field} as absent`, () => {
      const parsed = { url, ...noOptions, reuse: false };
      expect(schema.parse({ url, [field]: null })).to.deep.equal(parsed);
    });
  }

  const long = (length: number): string => url + 'x'.repeat(length - url.length);
  const longestHost = `${'a.'.repeat(126)}b`;
  const taken: readonly unknown[] = [
    'http://example.com',
    'HTTPS://Example.COM/Path?q=1#f',
    'https://example.com:8443/a b',
    'https://пример.рф/путь',
    'https://user.example.com/@name',
    'https://example.com?a@b\\c',
    'https://example.com#a@b\\c',
    'https://example.com/?u=https://sho.rt/a',
    'http://localhost:3000',
    'http://intranet/a',
    'http://192.168.1.10/',
    'http://[::1]:8080/',
    long(2_048),
    `https://${longestHost}/`,
    `https://${longestHost}./`,
  ];
  for (const value of taken) {
    it(`accepts the destination ${String(value).slice(0, 60)}`, () => {
      expect(schema.parse({ url: value })).to.deep.include({ url: value });
    });
  }

  const refused: readonly (readonly [UrlFault, string, unknown])[] = [
    ['missing', 'none', undefined],
    ['missing', 'null', null],
    ['missing', 'an empty one', ''],
    ['missing', 'a number', 5],
    ['missing', 'an array', [url]],
    ['scheme', 'no scheme', 'example.com'],
    ['scheme', 'a relative one', '//example.com/'],
    ['scheme', 'another scheme', 'ftp://example.com/'],
    ['scheme', 'a script', 'javascript:alert(1)//https://'],
    ['scheme', 'a script after a break', 'https:\n//example.com'],
    ['scheme', 'a scheme without slashes', 'https:example.com'],
    ['scheme', 'one slash', 'https:/example.com'],
    ['host', 'three slashes', 'https:///example.com'],
    ['scheme', 'back slashes', 'https:\\\\example.com'],
    ['host', 'no host', 'https://'],
    ['host', 'no host but a query', 'https://?a=b'],
    ['whitespace', 'a host with a space', 'https://exa mple.com/'],
    ['host', 'a port out of range', 'https://example.com:65536/'],
    ['host', 'a number beyond IPv4', 'http://256.256.256.256/'],
    ['userinfo', 'a user name', 'https://user@example.com/'],
    ['userinfo', 'a user name and password', 'https://user:secret@example.com/'],
    ['userinfo', 'a password only', 'https://:secret@example.com/'],
    ['userinfo', 'an empty user name', 'https://@example.com/'],
    ['userinfo', 'an empty user name and password', 'https://:@example.com'],
    ['backslash', 'a back slash before another host', 'https://example.com\\@evil.example/'],
    ['backslash', 'a back slash in the path', 'https://example.com/a\\b'],
    ['whitespace', 'a tab within', 'https://exam\tple.com/'],
    ['whitespace', 'a line break within', 'https://example.com/\r\nSet-Cookie:a=b'],
    ['whitespace', 'NUL', 'https://example.com/\u0000'],
    ['whitespace', 'a C1 control', 'https://example.com/\u0085a'],
    ['whitespace', 'a line separator', 'https://example.com/\u2028a'],
    ['whitespace', 'half a surrogate pair', 'https://example.com/\ud800'],
    ['tooLong', 'one character too many', long(2_049)],
    ['tooLong', 'too many characters once normalised', 'https://example.com/' + 'ü'.repeat(400)],
    ['host', 'a host of 254 characters', `https://a${longestHost}/`],
    ['host', 'a host of 254 characters with a trailing dot', `https://a${longestHost}./`],
    ['host', 'a host of 990 labels', `https://${'a.'.repeat(989)}b/`],
    ['ownHost', 'our own host', 'https://sho.rt/abc'],
    ['ownHost', 'our own host in capitals', 'HTTPS://SHO.RT/abc'],
    ['ownHost', 'our own host, percent-encoded', 'https://%73ho.rt/abc'],
    ['ownHost', 'our own host with its port', 'https://sho.rt:443/abc'],
  ];
  for (const [reason, what, value] of refused) {
    it(`refuses as url ${what}: ${reason}`, () => {
      const [issue] = schema.safeParse({ url: value }).error?.issues ?? [];
      expect(issue?.message).to.equal(reason === 'tooLong' ? urlTooLong : invalidUrl);
      expect(issue && urlFaultOf(issue)).to.equal(reason);
    });
  }

  it('returns a reason only for the URL', () => {
    const [issue] = schema.safeParse({ url, alias: 'ab' }).error?.issues ?? [];
    expect(issue && urlFaultOf(issue)).to.equal(null);
    const [missing] = schema.safeParse('no object').error?.issues ?? [];
    expect(missing && urlFaultOf(missing)).to.equal('missing');
  });

  it('trims the destination’s outer white space, and counts without it', () => {
    expect(schema.parse({ url: ` \t\n${long(2_048)}\u00a0\r\n ` }).url).to.equal(long(2_048));
  });

  it('trims invisible characters at both ends of the destination, mixed with white space', () => {
    const invisible = [
      '\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e',
      '\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff',
    ].join(' \n');
    for (const character of [...Array.from(invisible), invisible, `\u200b \u200b`]) {
      const sent = `${character}${long(2_048)}${character}`;
      expect(schema.parse({ url: sent }).url, JSON.stringify(character)).to.equal(long(2_048));
    }
    expect(messageOf({ url: invisible })).to.equal(invalidUrl);
    // Unassigned, so not on the list.
    expect(schema.parse({ url: `${url}\u2065` }).url).to.equal(`${url}\u2065`);
    expect(schema.parse({ url: `${url}\u200ba` }).url).to.equal(`${url}\u200ba`);
  });

  it('accepts hosts by current UTS 46', () => {
    expect(schema.parse({ url: 'https://STRA\u1e9eE.de/' }).url).to.equal(
      'https://STRA\u1e9eE.de/',
    );
    expect(messageOf({ url: 'https://a\u200cb.de/' })).to.equal(invalidUrl);
  });

  it('detects its own host in every spelling that UTS 46 maps to it', () => {
    const own = shortenRequest((destination) => destination.host === 'xn--strae-oqa.de');
    for (const host of ['straße.de', 'STRA\u1e9eE.de', 'stra%C3%9Fe.de', 'XN--STRAE-OQA.de']) {
      const [issue] = own.safeParse({ url: `https://${host}/a` }).error?.issues ?? [];
      expect(issue && urlFaultOf(issue), host).to.equal('ownHost');
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
      expect(messageOf({ url, [field]: decomposed.repeat(length + 1) })).to.match(
        /must have at most/,
      );
      // U+0958 is two characters in NFC.
      expect(messageOf({ url, [field]: '\u0958'.repeat(length) })).to.match(/must have at most/);
    }
    expect(schema.parse({ url, tags: [`\t${decomposed.repeat(50)} `] }).tags).to.deep.equal([
      '\u00fc'.repeat(50),
    ]);
  });

  it('refuses a tag that is empty after trimming', () => {
    for (const tag of ['', ' ', '\u00a0\t\n', '\ufeff']) {
      expect(messageOf({ url, tags: ['a', tag] }), JSON.stringify(tag)).to.match(/^tags must be/);
    }
  });

  const fields: readonly (readonly [string, readonly unknown[], string | null])[] = [
    ['alias', ['abc', 'a'.repeat(50), 'A-_9', '---'], null],
    ['alias', ['', 'ab', 'a'.repeat(51), ' '.repeat(51)], aliasLength],
    ['alias', ['a b', 'a.b', 'añb', 'a/b', 'abc\n', 'a+b', '\u0000\u0000\u0000'], aliasCharacters],
    ['alias', [123, true, {}, ['abc']], 'alias must be a string'],
    ['password', ['abcd', 'x'.repeat(100), '    ', '🔑'.repeat(4), '🔑'.repeat(100)], null],
    ['password', ['', 'abc', 'x'.repeat(101), '🔑🔑', '🔑'.repeat(101)], passwordLength],
    ['password', [1234, ['abcd']], 'password must be a string'],
    ['expiresIn', [60, 61, 315_360_000], null],
    ['expiresIn', [59, 59.99, 0, -60, -1e300], expiresInLeast],
    ['expiresIn', [315_360_001, 1e300, 315_360_000.5], expiresInMost],
    ['expiresIn', [60.5, 3_600.25], 'expiresIn must be a whole number of seconds'],
    ['expiresIn', ['60', true, {}, NaN], 'expiresIn must be a number'],
    ['maxClicks', [1, 2, 1_000_000_000], null],
    ['maxClicks', [0, 0.5, -1], maxClicksLeast],
    ['maxClicks', [1_000_000_001, 1e300], maxClicksMost],
    ['maxClicks', [1.5, 99.9], 'maxClicks must be an integer'],
    ['maxClicks', ['1', true, []], 'maxClicks must be a number'],
  ];
  for (const [field, values, message] of fields) {
    it(`${field} ${JSON.stringify(values).slice(0, 60)}: ${message ?? 'taken'}`, () => {
      for (const value of values) {
        expect(messageOf({ url, [field]: value }), JSON.stringify(value)).to.equal(message);
      }
    });
  }

  for (const body of [null, [], 'https://example.com', 5, true, undefined, {}]) {
    it(`requires a URL if it is ${body === undefined ? 'absent' : JSON.stringify(body)}`, () => {
      expect(messageOf(body)).to.equal(invalidUrl);
    });
  }

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
      expect(messageOf({ url, ...Object.fromEntries(later) })).to.equal(message);
    });
  });
});

/** White space and invisible characters at the ends of a text. */
const outer =
  /^[\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069]+|[\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069]+$/g;

describe('schemas: rule for destinations', () => {
  const pieces = fc.constantFrom(
    ...['http://', 'HTTPS://', 'https:', '//', '/', '\\', '@', ':', '?', '#', '%', '%00', '..'],
    ...[
      '[',
      ']',
      '::1',
      ' ',
      '\t',
      '\r\n',
      '\u0000',
      '\u2028',
      '\ufeff',
      '\ud800',
      'ü',
      '例',
      '。',
    ],
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

  it('never throws, and accepts only trimmed destinations without control characters on other hosts', () => {
    let accepted = 0;
    fc.assert(
      fc.property(candidates, (text) => {
        const result = schema.safeParse({ url: text });
        if (!result.success) return;
        accepted += 1;
        const destination = result.data.url;
        expect(destination).to.equal(text.replace(outer, ''));
        expect(destination).to.match(/^https?:\/\//i);
        expect(destination).to.not.match(/\p{Cc}|\u2028|\u2029/u);
        const parsed = new URL(destination);
        expect(parsed.protocol).to.match(/^https?:$/);
        expect(parsed.host).to.not.equal('sho.rt');
        expect(parsed.username + parsed.password).to.equal('');
        expect(destination.isWellFormed()).to.be.true;
      }),
      { numRuns: 3_000 },
    );
    // Otherwise the property would be vacuous.
    expect(accepted).to.be.greaterThan(300);
  });

  it('ignores white space around a destination', () => {
    const white = fc.string({
      unit: fc.constantFrom(' ', '\t', '\n', '\r', '\u00a0', '\u200b', '\ufeff', '\u202e'),
      maxLength: 5,
    });
    fc.assert(
      fc.property(white, candidates, white, (before, text, after) => {
        const plain = schema.safeParse({ url: text });
        expect(schema.safeParse({ url: before + text + after }).data).to.deep.equal(plain.data);
      }),
    );
  });
});

describe('schemas: short code', () => {
  it('matches exactly the valid aliases', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint, maxLength: 52 }), (alias) => {
        expect(aliasPattern.test(alias)).to.equal(messageOf({ url, alias }) === null);
      }),
    );
  });
});
