import { maxCodes } from '../../../schemas/folds/link.js';
import { codeAdded, codeRemoved, created, deleted } from '../../../schemas/testing/events.js';
import { metadataOfEvent, specify } from '../../testing/decisions.js';
import { codeDecider } from './command.js';

const { accepts, refuses } = specify('spring', codeDecider);

const link = created('spring', {}, { account: 'acme' });
const code = (sequence: number, name: string) =>
  codeAdded('spring', sequence, { code: name, keyId: 'key-1' }, { account: 'acme' });
const metadata = { ...metadataOfEvent(), account: 'acme' };
const add = {
  type: 'AddCode',
  account: 'acme',
  code: 'go.example/sprnig',
  keyId: 'key-1',
  refusal: null,
} as const;
const remove = { type: 'RemoveCode', account: 'acme', code: 'a' } as const;

describe('command API: further codes of a link', () => {
  it('are added with the key that pays for them', () => {
    const data = { code: 'go.example/sprnig', keyId: 'key-1' };
    accepts([link, code(2, 'a')], add, codeAdded('spring', 3, data, metadata));
  });

  it('are refused if the ledger cannot assign them', () => {
    for (const refusal of ['domainInactive', 'linksExhausted', 'aliasTaken'] as const) {
      refuses([link], { ...add, refusal }, refusal);
    }
  });

  it('are at most 20, without removed ones', () => {
    const additions = Array.from({ length: maxCodes }, (_, index) =>
      code(index + 2, `code-${index}`),
    );
    refuses([link, ...additions], add, 'tooManyCodes');
    const removed = codeRemoved('spring', maxCodes + 2, { code: 'code-3' });
    const data = { code: 'go.example/sprnig', keyId: 'key-1' };
    accepts([link, ...additions, removed], add, codeAdded('spring', maxCodes + 3, data, metadata));
  });

  it('are removed, but not the first one, and no code of another link', () => {
    accepts([link, code(2, 'a')], remove, codeRemoved('spring', 3, { code: 'a' }, metadata));
    refuses([link, code(2, 'a')], { ...remove, code: 'spring' }, 'firstCode');
    refuses([link], remove, 'notFound');
  });

  it('cannot change for unknown and deleted links, and links of others', () => {
    for (const command of [add, remove]) {
      refuses([], command, 'notFound');
      refuses([link, code(2, 'a')], { ...command, account: 'other' }, 'notFound');
      refuses([link, code(2, 'a'), deleted('spring', 3)], command, 'deleted');
    }
  });
});
