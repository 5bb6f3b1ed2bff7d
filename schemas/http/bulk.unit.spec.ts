import { expect } from 'chai';
import { bulkRequest } from './bulk.js';

const shortCodes = ['a-code', 'another'];
const codes = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `code-${index}`);
const messagesOf = (body: unknown): readonly string[] | undefined =>
  bulkRequest.safeParse(body).error?.issues.map(({ message }) => message);

describe('schemas: body of POST /v2/links/bulk', () => {
  it('has 1 to 100 unique short codes, and a change', () => {
    const many = codes(100);
    const tags = { addTags: ['a', 'a'], removeTags: ['b'], disabled: true };
    expect(bulkRequest.parse({ shortCodes: many, change: tags, more: 1 })).to.deep.equal({
      ...{ shortCodes: many, change: { ...tags, addTags: ['a'] } },
    });
    for (const change of [{ tags: null }, { tags: [] }, { delete: true }, { disabled: false }]) {
      expect(bulkRequest.parse({ shortCodes, change }).change).to.deep.equal(change);
    }
  });

  const codesMessage = 'shortCodes must be 1 to 100 texts, none of them twice';
  for (const wrong of [
    {},
    null,
    'a',
    [],
    ['a', 5],
    ['a', 'b', 'a'],
    ['é', 'e\u0301'],
    codes(101),
  ]) {
    it(`is refused with the short codes ${JSON.stringify(wrong).slice(0, 20)}`, () => {
      const messages = messagesOf({ shortCodes: wrong, change: { delete: true } });
      expect(messages).to.deep.equal([codesMessage]);
    });
  }

  const beside = 'tags cannot stand beside addTags or removeTags';
  for (const [change, message] of [
    [undefined, 'Nothing to change'],
    [{}, 'Nothing to change'],
    [{ url: 'https://example.com/' }, 'Nothing to change'],
    [{ addTags: null, disabled: null, delete: null }, 'Nothing to change'],
    [{ delete: false }, 'delete must be true'],
    [{ delete: true, disabled: true }, 'delete cannot stand beside another change'],
    [{ delete: true, tags: null }, 'delete cannot stand beside another change'],
    [{ tags: ['a'], addTags: ['b'] }, beside],
    [{ tags: null, removeTags: [] }, beside],
    [{ disabled: 'yes' }, 'disabled must be true or false'],
  ] as const) {
    it(`is refused with the change ${JSON.stringify(change)}`, () => {
      expect(messagesOf({ shortCodes, change })?.[0]).to.equal(message);
    });
  }

  it('names the field with invalid tags', () => {
    for (const field of ['addTags', 'removeTags', 'tags']) {
      for (const wrong of ['a', ['a,b'], [''], codes(21)]) {
        const [message] = messagesOf({ shortCodes, change: { [field]: wrong } }) ?? [];
        expect(message).to.match(new RegExp(`^${field} must be at most 20 texts`));
      }
    }
  });
});
