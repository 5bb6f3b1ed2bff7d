import { expect } from 'chai';
import { scopeNames } from '../scopes.js';
import { messageOf, specifyMessages } from '../testing/messages.js';
import { changeKeyRequest, changeOwnKeyRequest, createKeyRequest, makeKeyRequest } from './keys.js';

const nameMessage = 'name must have 1 to 100 characters, none of them control characters';
const planMessage = 'plan must be one of FREE, HOBBY, INDIE, PRO';
const scopesMessage =
  'scopes must be a list of links:create, links:read, links:write, links:import, stats:read, qr:read, keys:manage, domains:manage, events:read, webhooks:manage, people:read, people:manage';
const badNames = ['', 'x'.repeat(101), 'a\nb', 'a\u0000', 'a\u007f', 'a\u009f', '\ud800', 5, null];
const named = (name: unknown) => ({ name });

describe('schemas: body of POST /admin/keys', () => {
  it('has all scopes and the account default by default, and strips unknown fields', () => {
    expect(createKeyRequest.parse({ name: 'site', plan: 'FREE', color: 1 })).to.deep.equal({
      ...{ name: 'site', plan: 'FREE', account: 'default', scopes: scopeNames, expiresIn: null },
    });
    for (const body of [
      { name: 'x', plan: 'PRO', account: 'a' },
      { name: 'Größe 100 % – 日本', plan: 'HOBBY', account: 'Acme.Inc_2-b' },
      { name: 'x'.repeat(100), plan: 'INDIE', account: 'a'.repeat(64) },
      { name: 'x', plan: 'PRO', account: 'a', scopes: ['links:read', 'qr:read'], expiresIn: 60 },
      { name: 'x', plan: 'PRO', account: 'a', scopes: [], expiresIn: 315_360_000 },
    ]) {
      const rest = { scopes: scopeNames, expiresIn: null };
      expect(createKeyRequest.parse(body)).to.deep.equal({ ...rest, ...body });
    }
  });

  it('stores the name trimmed and in NFC, and counts the stored characters', () => {
    const nameOf = (name: string) => createKeyRequest.parse({ name, plan: 'PRO' }).name;
    expect(nameOf(' \u00a0Gro\u0308\u00dfe\n')).to.equal('Gr\u00f6\u00dfe');
    expect(nameOf(` ${'u\u0308'.repeat(100)} `)).to.equal('\u00fc'.repeat(100));
    for (const schema of [changeKeyRequest, makeKeyRequest, changeOwnKeyRequest]) {
      expect(schema.parse({ name: ' a\u0308 ' })).to.include({ name: '\u00e4' });
    }
    expect(messageOf(createKeyRequest, { name: ' \u00a0', plan: 'PRO' })).to.equal(nameMessage);
  });

  it('has sorted and unique scopes', () => {
    const scopes = ['qr:read', 'links:read', 'qr:read'];
    const request = createKeyRequest.parse({ name: 'x', plan: 'PRO', scopes });
    expect(request.scopes).to.deep.equal(['links:read', 'qr:read']);
  });

  specifyMessages(
    createKeyRequest,
    [
      [nameMessage, ...badNames.map(named), { name: '', plan: '', account: '' }],
      [
        planMessage,
        ...[{ plan: 'free' }, { plan: undefined }, { plan: null }, { plan: '', account: '' }],
      ],
      [
        'account must have 1 to 64 characters: letters, digits, dots, hyphens and underscores',
        ...['', 'a b', 'abc\n', 'x'.repeat(65), null].map((account) => ({ account })),
      ],
      [scopesMessage, { scopes: 'qr:read' }, { scopes: ['qr:write'] }, { scopes: null }],
      ['expiresIn must be at least 60 seconds (1 minute)', { expiresIn: 59 }],
      ['expiresIn must be a number', { expiresIn: '60' }],
    ],
    (change) => ({ name: 'site', plan: 'PRO', ...(change as object) }),
  );
  specifyMessages(createKeyRequest, [[nameMessage, null, [], 'site', undefined]]);
});

describe('schemas: body of PATCH /admin/keys/:id', () => {
  it('has only the changes', () => {
    const some = [{ name: 'new' }, { plan: 'PRO' }, { active: false }, { expiresIn: null }];
    for (const body of [...some, { scopes: ['qr:read'] }, { expiresIn: 60 }]) {
      expect(changeKeyRequest.parse({ ...body, account: 'other', id: 'k' })).to.deep.equal(body);
    }
  });

  specifyMessages(changeKeyRequest, [
    [nameMessage, ...badNames.map(named)],
    [planMessage, { plan: 'GOLD' }],
    ['active must be true or false', { active: 'false' }, { active: null }],
    [scopesMessage, { scopes: null }],
    ['expiresIn must be at least 60 seconds (1 minute)', { expiresIn: 1 }],
    [
      'nothing to change: give name, plan, active, scopes or expiresIn',
      ...[{}, { account: 'other' }],
    ],
  ]);
});
