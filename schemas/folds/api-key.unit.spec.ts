import { foldSpecification } from '../testing/decider-specification.js';
import { at, keyChanged, keyCreated, keyHash, keyRevoked, noon } from '../testing/events.js';
import { evolveApiKey, noKey, type ApiKey } from './api-key.js';

const given = foldSpecification({ initialState: noKey, evolve: evolveApiKey });

const key: ApiKey = {
  id: 'key-1',
  name: 'website',
  plan: 'HOBBY',
  account: 'acme',
  hash: keyHash,
  createdAt: noon,
  sequence: 1,
  lastEventAt: noon,
};

describe('schemas: API key’s state', () => {
  it('is active from its creation', () => {
    given(keyCreated('key-1')).then({ status: 'active', key });
  });

  it('has the values of the last change; creation, account and hash stay', () => {
    const change = keyChanged(
      'key-1',
      2,
      { name: 'shop', plan: 'PRO', active: false },
      { time: at(5) },
    );
    const changed = { ...key, name: 'shop', plan: 'PRO' as const, sequence: 2, lastEventAt: at(5) };
    given(keyCreated('key-1')).when(change).then({ status: 'inactive', key: changed });
    given(keyCreated('key-1'), change)
      .when(keyChanged('key-1', 3, { name: 'shop', plan: 'PRO', active: true }, { time: at(6) }))
      .then({ status: 'active', key: { ...changed, sequence: 3, lastEventAt: at(6) } });
  });

  it('is revoked with all that is known of it', () => {
    given(keyCreated('key-1'))
      .when(keyRevoked('key-1', 2, { time: at(5) }))
      .then({ status: 'revoked', key: { ...key, sequence: 2, lastEventAt: at(5) } });
  });

  it('cannot change before its creation', () => {
    const change = keyChanged('key-1', 1, { name: 'x', plan: 'PRO', active: true });
    for (const event of [change, keyRevoked('key-1', 1)]) {
      given()
        .when(event)
        .thenThrows(/nobody made/);
    }
  });
});
