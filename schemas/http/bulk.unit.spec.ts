import { expect } from 'chai';
import { messageOf, specifyMessages } from '../testing/messages.js';
import { bulkRequest } from './bulk.js';

const shortCodes = ['a-code', 'another'];
const codes = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `code-${index}`);

describe('schemas: body of POST /v2/links/bulk', () => {
  it('has 1 to 100 unique short codes, and a change', () => {
    const many = codes(100);
    const tags = { addTags: ['a', 'a'], removeTags: ['b'], disabled: true };
    expect(bulkRequest.parse({ shortCodes: many, change: tags, more: 1 })).to.deep.equal({
      ...{ shortCodes: many, change: { ...tags, addTags: ['a'] } },
    });
    for (const change of [
      { tags: null },
      { tags: [] },
      { delete: true },
      { restore: true },
      { disabled: false },
    ]) {
      expect(bulkRequest.parse({ shortCodes, change }).change).to.deep.equal(change);
    }
  });

  specifyMessages(
    bulkRequest,
    [
      [
        'shortCodes must be 1 to 100 texts, none of them twice',
        ...[{}, null, 'a', [], ['a', 5], ['a', 'b', 'a'], ['é', 'e\u0301'], codes(101)],
      ],
    ],
    (wrong) => ({ shortCodes: wrong, change: { delete: true } }),
  );

  specifyMessages(
    bulkRequest,
    [
      [
        'Nothing to change',
        ...[undefined, {}, { url: 'https://example.com/' }],
        { addTags: null, disabled: null, delete: null },
      ],
      ['delete must be true', { delete: false }],
      [
        'delete and restore cannot stand beside another change',
        ...[
          { delete: true, disabled: true },
          { delete: true, tags: null },
          { restore: true, disabled: false },
          { delete: true, restore: true },
        ],
      ],
      [
        'tags cannot stand beside addTags or removeTags',
        ...[
          { tags: ['a'], addTags: ['b'] },
          { tags: null, removeTags: [] },
        ],
      ],
      ['disabled must be true or false', { disabled: 'yes' }],
    ],
    (change) => ({ shortCodes, change }),
  );

  it('names the field with invalid tags', () => {
    for (const field of ['addTags', 'removeTags', 'tags']) {
      for (const wrong of ['a', ['a,b'], [''], codes(21)]) {
        const message = messageOf(bulkRequest, { shortCodes, change: { [field]: wrong } });
        expect(message).to.match(new RegExp(`^${field} must be at most 20 texts`));
      }
    }
  });
});
