import { expect } from 'chai';
import fc from 'fast-check';
import { messageOf, specifyMessages } from '../testing/messages.js';
import {
  actorHeader,
  actorHeaderOf,
  aliasOverrideRequest,
  blockRequest,
  operatorNameIn,
  switchPlatformRequest,
} from './operators.js';

describe('schemas: body of PATCH /admin/platform', () => {
  it('has only the given switches', () => {
    for (const body of [
      { maintenance: true },
      { maintenance: false, features: { qr: false } },
      { features: { shortening: true, aliases: false, passwords: true, expiration: false } },
      { maintenance: true, features: {} },
    ]) {
      expect(switchPlatformRequest.parse(body)).to.deep.equal(body);
    }
  });

  specifyMessages(switchPlatformRequest, [
    ['nothing to switch: give maintenance or features', {}, { features: {} }],
    ['maintenance must be true or false', { maintenance: 'true' }, { maintenance: null }],
    ['features.aliases must be true or false', { features: { aliases: 0 } }],
    ['features.qr must be true or false', { features: { qr: null } }],
    // An unknown switch must not be ignored.
    [
      'features may hold shortening, aliases, passwords, expiration and qr',
      ...[{ features: { qrs: false } }, { features: null }],
    ],
    [
      'the body may hold maintenance and features',
      ...[{ maintenance: true, feature: { qr: false } }, null, [], undefined],
    ],
  ]);
});

describe('schemas: body of a block', () => {
  it('has a reason in any language', () => {
    for (const reason of ['x', 'Käse – 日本', 'x'.repeat(500)]) {
      expect(blockRequest.parse({ reason, more: 1 })).to.deep.equal({ reason });
    }
  });

  const reasons = ['', 'x'.repeat(501), 'a\n', '\u0000', '\u007f', '\u009f', '\ud800', 5, null];
  specifyMessages(blockRequest, [
    [
      'reason must have 1 to 500 characters, none of them control characters',
      ...[...reasons.map((reason) => ({ reason })), {}, null, []],
    ],
  ]);
});

describe('schemas: body of an override', () => {
  it('has an account', () => {
    const account = 'Acme.Inc_2-b';
    expect(aliasOverrideRequest.parse({ account, x: 1 })).to.deep.equal({ account });
  });

  specifyMessages(aliasOverrideRequest, [
    [
      'account must have 1 to 64 characters: letters, digits, dots, hyphens and underscores',
      ...['', 'a b', 'x'.repeat(65), 5, null, undefined].map((account) => ({ account })),
    ],
    ['account is needed', null, [], 'acme'],
  ]);
});

describe('schemas: the name of an operator', () => {
  const plainName = operatorNameIn('X-Actor');
  const tooLong = 'X-Actor must have 1 to 64 characters, none of them control characters';

  specifyMessages(plainName, [
    [
      null,
      'm',
      'DOMAIN\\maria',
      'Zoë Müller',
      '李雷',
      'systems',
      'usr_maria',
      'operator:maria',
      '😀'.repeat(64),
    ],
    [
      tooLong,
      ...['', ' ', 'a\tb', 'a\u2028b', '\ud800', 'x'.repeat(65), '😀'.repeat(65), undefined],
    ],
  ]);

  it('is in NFC, without white space at both ends', () => {
    expect(plainName.parse(' Zoe\u0308\u200b')).to.equal('Zo\u00eb');
  });

  it('is a header of visible ASCII and spaces as it is', () => {
    for (const name of ['m', 'maria', 'DOMAIN\\maria', 'two words', '50%', '%zz', 'x'.repeat(64)]) {
      expect(actorHeader.parse(name)).to.equal(name);
    }
  });

  const person = 'usr_6hQz1mV0bT8kXw2RfL4d';
  const id = '0190f5d2-7c11-7c3e-8a55-0123456789ab';
  specifyMessages(actorHeader, [
    [tooLong, '', 'x'.repeat(65), '%0A', '%00', '%E2%80%A8'],
    [
      'X-Actor must be ASCII, with other characters percent-encoded as UTF-8',
      ...['ä', 'a\tb', '\x7f'],
    ],
    [
      'X-Actor must not be system, web-safety, visitor or the id of a key or a person',
      ...['system', 'System', 'WEB-SAFETY', 'visitor', id, id.toUpperCase()],
      ...[id.replace('f', 'g'), id.replace('f', '\u{1f600}')].map(actorHeaderOf),
      ...['ｓｙｓｔｅｍ', 'sys\u200dtem', '\u2066system\u2069'].map(actorHeaderOf),
      ...[person, `operator:${person}`, person.toUpperCase(), `Operator:${person}`],
      ...[`usr_\u200d${person.slice(4)}`, person.replace('usr', 'ｕｓｒ')].map(actorHeaderOf),
    ],
  ]);

  it('survives the encoding of the header', () => {
    expect(actorHeaderOf('maria')).to.equal('maria');
    expect(actorHeaderOf('100% Zoë')).to.equal('100%25%20Zo%C3%AB');
    const anyName = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 70 });
    fc.assert(
      fc.property(fc.oneof(anyName, fc.stringMatching(/^[%a-f0-9 ]{1,64}$/)), (text) => {
        if (messageOf(plainName, text) !== null) return;
        const header = actorHeaderOf(plainName.parse(text));
        expect(header).to.match(/^[\x21-\x7e]+$/);
        expect(actorHeader.parse(header)).to.equal(plainName.parse(text));
      }),
    );
  });
});
