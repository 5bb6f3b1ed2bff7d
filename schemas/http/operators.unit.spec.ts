import { expect } from 'chai';
import fc from 'fast-check';
import type { z } from 'zod';
import {
  actorHeader,
  actorHeaderOf,
  aliasOverrideRequest,
  blockRequest,
  operatorNameIn,
  switchPlatformRequest,
} from './operators.js';

const messageOf = (schema: z.ZodType, body: unknown): string | null => {
  const result = schema.safeParse(body);
  return result.success ? null : (result.error.issues[0]?.message ?? '');
};

const named = (value: unknown): string =>
  (value === undefined ? 'nothing' : JSON.stringify(value)).slice(0, 60);

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

  const nothing = 'nothing to switch: give maintenance or features';
  const properties = 'the body may hold maintenance and features';
  const features = 'features may hold shortening, aliases, passwords, expiration and qr';
  const refused: readonly (readonly [unknown, string])[] = [
    [{}, nothing],
    [{ features: {} }, nothing],
    [{ maintenance: 'true' }, 'maintenance must be true or false'],
    [{ maintenance: null }, 'maintenance must be true or false'],
    [{ features: { aliases: 0 } }, 'features.aliases must be true or false'],
    [{ features: { qr: null } }, 'features.qr must be true or false'],
    // An unknown switch must not be ignored.
    [{ features: { qrs: false } }, features],
    [{ features: null }, features],
    [{ maintenance: true, feature: { qr: false } }, properties],
    [null, properties],
    [[], properties],
    [undefined, properties],
  ];
  for (const [body, message] of refused) {
    it(`refuses ${named(body)}`, () => {
      expect(messageOf(switchPlatformRequest, body)).to.equal(message);
    });
  }
});

describe('schemas: body of a block', () => {
  it('has a reason in any language', () => {
    for (const reason of ['x', 'Käse – 日本', 'x'.repeat(500)]) {
      expect(blockRequest.parse({ reason, more: 1 })).to.deep.equal({ reason });
    }
  });

  const message = 'reason must have 1 to 500 characters, none of them control characters';
  const reasons = ['', 'x'.repeat(501), 'a\n', '\u0000', '\u007f', '\u009f', '\ud800', 5, null];
  for (const body of [...reasons.map((reason) => ({ reason })), {}, null, []]) {
    it(`refuses ${named(body)}`, () => {
      expect(messageOf(blockRequest, body)).to.equal(message);
    });
  }
});

describe('schemas: body of an override', () => {
  it('has an account', () => {
    expect(aliasOverrideRequest.parse({ account: 'Acme.Inc_2-b', x: 1 })).to.deep.equal({
      account: 'Acme.Inc_2-b',
    });
  });

  for (const account of ['', 'a b', 'x'.repeat(65), 5, null, undefined]) {
    it(`refuses the account ${named(account)}`, () => {
      expect(messageOf(aliasOverrideRequest, { account })).to.equal(
        'account must have 1 to 64 characters: letters, digits, dots, hyphens and underscores',
      );
    });
  }

  it('must be an object', () => {
    for (const body of [null, [], 'acme']) {
      expect(messageOf(aliasOverrideRequest, body)).to.equal('account is needed');
    }
  });
});

describe('schemas: the name of an operator', () => {
  const namePlain = operatorNameIn('X-Actor');
  const tooLong = 'X-Actor must have 1 to 64 characters, none of them control characters';

  it('has 1 to 64 characters, also spaces and Unicode, but no control characters', () => {
    for (const name of ['m', 'DOMAIN\\maria', 'Zoë Müller', '李雷', 'systems', '😀'.repeat(64)]) {
      expect(namePlain.parse(name)).to.equal(name);
    }
    for (const name of ['', ' ', 'a\tb', 'a\u2028b', '\ud800', 'x'.repeat(65), '😀'.repeat(65)]) {
      expect(messageOf(namePlain, name)).to.equal(tooLong);
    }
    expect(messageOf(namePlain, undefined)).to.equal(tooLong);
  });

  it('is in NFC, without white space at both ends', () => {
    expect(namePlain.parse(' Zoe\u0308\u200b')).to.equal('Zo\u00eb');
  });

  it('is a header of visible ASCII and spaces as it is', () => {
    for (const name of ['m', 'maria', 'DOMAIN\\maria', 'two words', '50%', '%zz', 'x'.repeat(64)]) {
      expect(actorHeader.parse(name)).to.equal(name);
    }
    for (const header of ['', 'x'.repeat(65), '%0A', '%00', '%E2%80%A8']) {
      expect(messageOf(actorHeader, header)).to.equal(tooLong);
    }
    for (const header of ['ä', 'a\tb', '\x7f']) {
      expect(messageOf(actorHeader, header)).to.equal(
        'X-Actor must be ASCII, with other characters percent-encoded as UTF-8',
      );
    }
  });

  it('survives the encoding of the header', () => {
    expect(actorHeaderOf('maria')).to.equal('maria');
    expect(actorHeaderOf('100% Zoë')).to.equal('100%25%20Zo%C3%AB');
    const anyName = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 70 });
    fc.assert(
      fc.property(fc.oneof(anyName, fc.stringMatching(/^[%a-f0-9 ]{1,64}$/)), (text) => {
        const parsed = namePlain.safeParse(text);
        fc.pre(parsed.success);
        expect(actorHeaderOf(parsed.data)).to.match(/^[\x21-\x7e]+$/);
        expect(actorHeader.parse(actorHeaderOf(parsed.data))).to.equal(parsed.data);
      }),
    );
  });

  it('is not the name of another kind of actor, in any case', () => {
    const id = '0190f5d2-7c11-7c3e-8a55-0123456789ab';
    const hidden = ['ｓｙｓｔｅｍ', 'sys\u200dtem', '\u2066system\u2069'].map(actorHeaderOf);
    const reserved = ['system', 'System', 'WEB-SAFETY', 'visitor', id, id.toUpperCase()];
    for (const name of [...reserved, ...hidden]) {
      expect(messageOf(actorHeader, name)).to.equal(
        'X-Actor must not be system, web-safety, visitor or the id of a key',
      );
    }
  });
});
