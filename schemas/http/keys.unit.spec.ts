import { expect } from 'chai';
import { scopeNames } from '../scopes.js';
import { changeKeyRequest, changeOwnKeyRequest, createKeyRequest, makeKeyRequest } from './keys.js';

const nameMessage = 'name must have 1 to 100 characters, none of them control characters';
const planMessage = 'plan must be one of FREE, HOBBY, INDIE, PRO';
const accountMessage =
  'account must have 1 to 64 characters: letters, digits, dots, hyphens and underscores';
const scopesMessage =
  'scopes must be a list of links:create, links:read, links:write, links:import, stats:read, qr:read, keys:manage, domains:manage, events:read, webhooks:manage';
const activeMessage = 'active must be true or false';
const emptyMessage = 'nothing to change: give name, plan, active, scopes or expiresIn';

const messageOf = (
  schema: typeof createKeyRequest | typeof changeKeyRequest,
  body: unknown,
): string | null => {
  const result = schema.safeParse(body);
  return result.success ? null : (result.error.issues[0]?.message ?? '');
};

const badNames = ['', 'x'.repeat(101), 'a\nb', 'a\u0000', 'a\u007f', 'a\u009f', '\ud800', 5, null];

describe('schemas: body of POST /admin/keys', () => {
  it('has all scopes and the account default by default, and strips unknown fields', () => {
    expect(createKeyRequest.parse({ name: 'site', plan: 'FREE', color: 1 })).to.deep.equal({
      name: 'site',
      plan: 'FREE',
      account: 'default',
      scopes: scopeNames,
      expiresIn: null,
    });
  });

  const taken = [
    { name: 'x', plan: 'PRO', account: 'a' },
    { name: 'Größe 100 % – 日本', plan: 'HOBBY', account: 'Acme.Inc_2-b' },
    { name: 'x'.repeat(100), plan: 'INDIE', account: 'a'.repeat(64) },
    { name: 'x', plan: 'PRO', account: 'a', scopes: ['links:read', 'qr:read'], expiresIn: 60 },
    { name: 'x', plan: 'PRO', account: 'a', scopes: [], expiresIn: 315_360_000 },
  ];
  for (const body of taken) {
    it(`accepts ${JSON.stringify(body).slice(0, 60)}`, () => {
      const rest = { scopes: scopeNames, expiresIn: null };
      expect(createKeyRequest.parse(body)).to.deep.equal({ ...rest, ...body });
    });
  }

  it('stores the name trimmed and in NFC, and counts the stored characters', () => {
    const named = (name: string) => createKeyRequest.parse({ name, plan: 'PRO' }).name;
    expect(named(' \u00a0Gro\u0308\u00dfe\n')).to.equal('Gr\u00f6\u00dfe');
    expect(named(` ${'u\u0308'.repeat(100)} `)).to.equal('\u00fc'.repeat(100));
    expect(changeKeyRequest.parse({ name: 'a\u0308 ' })).to.include({ name: '\u00e4' });
    expect(makeKeyRequest.parse({ name: ' a\u0308' })).to.include({ name: '\u00e4' });
    expect(changeOwnKeyRequest.parse({ name: ' a\u0308' })).to.include({ name: '\u00e4' });
    expect(messageOf(createKeyRequest, { name: ' \u00a0', plan: 'PRO' })).to.equal(nameMessage);
  });

  const refused: readonly (readonly [Record<string, unknown>, string])[] = [
    ...badNames.map((name) => [{ name }, nameMessage] as const),
    [{ plan: 'free' }, planMessage],
    [{ plan: undefined }, planMessage],
    [{ plan: null }, planMessage],
    [{ account: '' }, accountMessage],
    [{ account: 'a b' }, accountMessage],
    [{ account: 'abc\n' }, accountMessage],
    [{ account: 'x'.repeat(65) }, accountMessage],
    [{ account: null }, accountMessage],
    [{ scopes: 'qr:read' }, scopesMessage],
    [{ scopes: ['qr:write'] }, scopesMessage],
    [{ scopes: null }, scopesMessage],
    [{ expiresIn: 59 }, 'expiresIn must be at least 60 seconds (1 minute)'],
    [{ expiresIn: '60' }, 'expiresIn must be a number'],
    [{ name: '', plan: '', account: '' }, nameMessage],
    [{ plan: '', account: '' }, planMessage],
  ];
  for (const [change, message] of refused) {
    it(`refuses ${JSON.stringify(change).slice(0, 60)}`, () => {
      expect(messageOf(createKeyRequest, { name: 'site', plan: 'PRO', ...change })).to.equal(
        message,
      );
    });
  }

  for (const body of [null, [], 'site', undefined]) {
    it(`requires a name if it is ${body === undefined ? 'absent' : JSON.stringify(body)}`, () => {
      expect(messageOf(createKeyRequest, body)).to.equal(nameMessage);
    });
  }
});

it('schemas: scopes are sorted and unique', () => {
  const scopes = ['qr:read', 'links:read', 'qr:read'];
  const request = createKeyRequest.parse({ name: 'x', plan: 'PRO', scopes });
  expect(request.scopes).to.deep.equal(['links:read', 'qr:read']);
});

describe('schemas: body of PATCH /admin/keys/:id', () => {
  it('has only the changes', () => {
    const some = [{ name: 'new' }, { plan: 'PRO' }, { active: false }, { expiresIn: null }];
    for (const body of [...some, { scopes: ['qr:read'] }, { expiresIn: 60 }]) {
      expect(changeKeyRequest.parse({ ...body, account: 'other', id: 'k' })).to.deep.equal(body);
    }
  });

  const refused: readonly (readonly [unknown, string])[] = [
    ...badNames.map((name) => [{ name }, nameMessage] as const),
    [{ plan: 'GOLD' }, planMessage],
    [{ active: 'false' }, activeMessage],
    [{ active: null }, activeMessage],
    [{ scopes: null }, scopesMessage],
    [{ expiresIn: 1 }, 'expiresIn must be at least 60 seconds (1 minute)'],
    [{}, emptyMessage],
    [{ account: 'other' }, emptyMessage],
  ];
  for (const [body, message] of refused) {
    it(`refuses ${JSON.stringify(body).slice(0, 60)}`, () => {
      expect(messageOf(changeKeyRequest, body)).to.equal(message);
    });
  }
});
