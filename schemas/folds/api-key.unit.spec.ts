import { foldSpecification } from '../testing/decider-specification.js';
import { scopeNames } from '../scopes.js';
import {
  at,
  keyChanged,
  keyCreated,
  keyHash,
  keyRevoked,
  keyRotated,
  noon,
} from '../testing/events.js';
import { evolveApiKey, noKey, type ApiKey } from './api-key.js';

const given = foldSpecification({ initialState: noKey, evolve: evolveApiKey });

const key: ApiKey = {
  id: 'key-1',
  name: 'website',
  plan: 'HOBBY',
  account: 'acme',
  scopes: scopeNames,
  expiresAt: null,
  ancestors: [],
  createdBy: null,
  deactivatedBy: null,
  secrets: { [keyHash]: null },
  createdAt: noon,
  sequence: 1,
  lastEventAt: noon,
};

describe('schemas: API key’s state', () => {
  const creation = keyCreated('key-1');

  it('is active from its creation', () => {
    given(creation).then({ status: 'active', key });
  });

  it('has the values of the last change; creation time, account and secrets stay', () => {
    const values = { name: 'shop', plan: 'PRO', scopes: ['qr:read'] } as const;
    const data = { ...values, scopes: [...values.scopes], expiresAt: at(99).toISOString() };
    const change = keyChanged('key-1', 2, { ...data, status: 'inactive' }, { time: at(5) });
    const changed = { ...key, ...values, expiresAt: at(99), sequence: 2, lastEventAt: at(5) };
    given(creation).when(change).then({ status: 'inactive', key: changed });
    given(creation, change)
      .when(keyChanged('key-1', 3, data, { time: at(6) }))
      .then({ status: 'active', key: { ...changed, sequence: 3, lastEventAt: at(6) } });
  });

  it('has the id of the deactivating key while it is inactive', () => {
    const off = keyChanged('key-1', 2, { status: 'inactive', deactivatedBy: 'key-0' });
    given(creation)
      .when(off)
      .then({ status: 'inactive', key: { ...key, deactivatedBy: 'key-0', sequence: 2 } });
    given(creation, off)
      .when(keyChanged('key-1', 3, {}))
      .then({ status: 'active', key: { ...key, sequence: 3 } });
  });

  const [second, third, fourth] = ['cd'.repeat(32), 'ef'.repeat(32), '01'.repeat(32)] as const;
  const rotated = (sequence: number, hash: string, end: number, time: number) =>
    keyRotated(
      'key-1',
      sequence,
      { hash, earlierEndAt: at(end).toISOString() },
      { time: at(time) },
    );

  it('has all live secrets; a rotation never extends one', () => {
    for (const [history, secrets] of [
      // Without an overlap.
      [[rotated(2, second, 10, 10)], { [second]: null }],
      [
        [rotated(2, second, 60, 0), rotated(3, third, 30, 10)],
        { [keyHash]: at(30), [second]: at(30), [third]: null },
      ],
      // The first has ended before the last rotation.
      [
        [rotated(2, second, 20, 0), rotated(3, third, 90, 5), rotated(4, fourth, 200, 20)],
        { [second]: at(90), [third]: at(200), [fourth]: null },
      ],
    ] as const) {
      const { sequence, time } = history[history.length - 1] ?? history[0];
      given(creation, ...history).then({
        status: 'active',
        key: { ...key, secrets, sequence, lastEventAt: new Date(time) },
      });
    }
  });

  it('keeps its status when it is rotated, and its values when it is revoked', () => {
    given(creation, keyChanged('key-1', 2, { status: 'inactive' }), rotated(3, second, 9, 9)).then({
      status: 'inactive',
      key: { ...key, secrets: { [second]: null }, sequence: 3, lastEventAt: at(9) },
    });
    given(creation)
      .when(keyRevoked('key-1', 2, { time: at(5) }))
      .then({ status: 'revoked', key: { ...key, sequence: 2, lastEventAt: at(5) } });
  });

  it('cannot change before its creation', () => {
    const revoked = keyRevoked('key-1', 1);
    for (const event of [keyChanged('key-1', 1, {}), rotated(1, second, 0, 0), revoked]) {
      given()
        .when(event)
        .thenThrows(/without ApiKeyCreated/);
    }
  });
});
