import { expect } from 'chai';
import { changeKeyRequest, createKeyRequest } from './keys.js';

const nameMessage = 'name must have 1 to 100 characters, none of them control characters';
const planMessage = 'plan must be one of FREE, HOBBY, INDIE, PRO';
const accountMessage =
  'account must have 1 to 64 characters: letters, digits, dots, hyphens and underscores';
const activeMessage = 'active must be true or false';
const emptyMessage = 'nothing to change: give name, plan or active';

const messageOf = (
  schema: typeof createKeyRequest | typeof changeKeyRequest,
  body: unknown,
): string | null => {
  const result = schema.safeParse(body);
  return result.success ? null : (result.error.issues[0]?.message ?? '');
};

const badNames = ['', 'x'.repeat(101), 'a\nb', 'a\u0000', 'a\u007f', 'a\u009f', '\ud800', 5, null];

describe('schemas: body of POST /admin/keys', () => {
  it('has the account default unless one is given, and nothing that is not listed', () => {
    expect(createKeyRequest.parse({ name: 'site', plan: 'FREE', color: 1 })).to.deep.equal({
      name: 'site',
      plan: 'FREE',
      account: 'default',
    });
  });

  const taken = [
    { name: 'x', plan: 'PRO', account: 'a' },
    { name: 'Größe 100 % – 日本', plan: 'HOBBY', account: 'Acme.Inc_2-b' },
    { name: 'x'.repeat(100), plan: 'INDIE', account: 'a'.repeat(64) },
  ];
  for (const body of taken) {
    it(`takes ${JSON.stringify(body).slice(0, 60)}`, () => {
      expect(createKeyRequest.parse(body)).to.deep.equal(body);
    });
  }

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
    [{ name: '', plan: '', account: '' }, nameMessage],
    [{ plan: '', account: '' }, planMessage],
  ];
  for (const [change, message] of refused) {
    it(`says what is wrong with ${JSON.stringify(change).slice(0, 60)}`, () => {
      expect(messageOf(createKeyRequest, { name: 'site', plan: 'PRO', ...change })).to.equal(
        message,
      );
    });
  }

  for (const body of [null, [], 'site', undefined]) {
    it(`asks for a name when it is ${body === undefined ? 'absent' : JSON.stringify(body)}`, () => {
      expect(messageOf(createKeyRequest, body)).to.equal(nameMessage);
    });
  }
});

describe('schemas: body of PATCH /admin/keys/:id', () => {
  it('has what is to be changed and nothing else', () => {
    for (const body of [{ name: 'new' }, { plan: 'PRO' }, { active: false }]) {
      expect(changeKeyRequest.parse({ ...body, account: 'other', id: 'k' })).to.deep.equal(body);
    }
  });

  const refused: readonly (readonly [unknown, string])[] = [
    ...badNames.map((name) => [{ name }, nameMessage] as const),
    [{ plan: 'GOLD' }, planMessage],
    [{ active: 'false' }, activeMessage],
    [{ active: null }, activeMessage],
    [{}, emptyMessage],
    [{ account: 'other' }, emptyMessage],
  ];
  for (const [body, message] of refused) {
    it(`says what is wrong with ${JSON.stringify(body).slice(0, 60)}`, () => {
      expect(messageOf(changeKeyRequest, body)).to.equal(message);
    });
  }
});
