import { expect } from 'chai';
import type { z } from 'zod';
import {
  aliasOverrideRequest,
  blockRequest,
  operatorName,
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
  it('has 1 to 64 visible characters', () => {
    for (const name of ['m', 'maria', 'DOMAIN\\maria', 'systems', 'x'.repeat(64)]) {
      expect(messageOf(operatorName, name)).to.equal(null);
    }
    for (const name of ['', 'two words', 'ä', 'x'.repeat(65), undefined]) {
      expect(messageOf(operatorName, name)).to.equal(
        'X-Actor must have 1 to 64 visible characters',
      );
    }
  });

  it('is not the name of another kind of actor, in any case', () => {
    const id = '0190f5d2-7c11-7c3e-8a55-0123456789ab';
    for (const name of ['system', 'System', 'WEB-SAFETY', 'visitor', id, id.toUpperCase()]) {
      expect(messageOf(operatorName, name)).to.equal(
        'X-Actor must not be system, web-safety, visitor or the id of a key',
      );
    }
  });
});
