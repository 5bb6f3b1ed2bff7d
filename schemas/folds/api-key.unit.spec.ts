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
  deactivatedBy: null,
  secrets: { [keyHash]: null },
  createdAt: noon,
  sequence: 1,
  lastEventAt: noon,
};

describe('schemas: API key’s state', () => {
  it('is active from its creation', () => {
    given(keyCreated('key-1')).then({ status: 'active', key });
  });

  it('has the values of the last change; creation time, account and secrets stay', () => {
    const values = { name: 'shop', plan: 'PRO', scopes: ['qr:read' as const] } as const;
    const data = { ...values, scopes: [...values.scopes], expiresAt: at(99).toISOString() };
    const change = keyChanged('key-1', 2, { ...data, status: 'inactive' }, { time: at(5) });
    const own = { ...values, expiresAt: at(99) };
    const changed = { ...key, ...own, sequence: 2, lastEventAt: at(5) };
    given(keyCreated('key-1')).when(change).then({ status: 'inactive', key: changed });
    given(keyCreated('key-1'), change)
      .when(keyChanged('key-1', 3, data, { time: at(6) }))
      .then({ status: 'active', key: { ...changed, sequence: 3, lastEventAt: at(6) } });
  });

  it('has the id of the deactivating key while it is inactive', () => {
    const off = { status: 'inactive', deactivatedBy: 'key-0' } as const;
    const inactive = { ...key, deactivatedBy: 'key-0', sequence: 2 };
    given(keyCreated('key-1'))
      .when(keyChanged('key-1', 2, off))
      .then({ status: 'inactive', key: inactive });
    given(keyCreated('key-1'), keyChanged('key-1', 2, off))
      .when(keyChanged('key-1', 3, {}))
      .then({ status: 'active', key: { ...key, sequence: 3 } });
  });

  const [second, third, fourth] = ['cd', 'ef', '01'].map((byte) => byte.repeat(32)) as [
    string,
    string,
    string,
  ];
  const rotated = (sequence: number, hash: string, end: number, time: number) =>
    keyRotated(
      'key-1',
      sequence,
      { hash, earlierEndAt: at(end).toISOString() },
      { time: at(time) },
    );

  it('has all live secrets; a rotation never extends one', () => {
    given(keyCreated('key-1'), rotated(2, second, 60, 0))
      .when(rotated(3, third, 30, 10))
      .then({
        status: 'active',
        key: {
          ...key,
          secrets: { [keyHash]: at(30), [second]: at(30), [third]: null },
          sequence: 3,
          lastEventAt: at(10),
        },
      });
    // The first has ended by then.
    given(keyCreated('key-1'), rotated(2, second, 20, 0), rotated(3, third, 90, 5))
      .when(rotated(4, fourth, 200, 20))
      .then({
        status: 'active',
        key: {
          ...key,
          secrets: { [second]: at(90), [third]: at(200), [fourth]: null },
          sequence: 4,
          lastEventAt: at(20),
        },
      });
  });

  it('has only the new secret without an overlap, and stays inactive', () => {
    given(keyCreated('key-1'), keyChanged('key-1', 2, { status: 'inactive' }))
      .when(rotated(3, second, 10, 10))
      .then({
        status: 'inactive',
        key: { ...key, secrets: { [second]: null }, sequence: 3, lastEventAt: at(10) },
      });
  });

  it('keeps its values when it is revoked', () => {
    given(keyCreated('key-1'))
      .when(keyRevoked('key-1', 2, { time: at(5) }))
      .then({ status: 'revoked', key: { ...key, sequence: 2, lastEventAt: at(5) } });
  });

  it('cannot change before its creation', () => {
    for (const event of [
      keyChanged('key-1', 1, {}),
      rotated(1, second, 0, 0),
      keyRevoked('key-1', 1),
    ]) {
      given()
        .when(event)
        .thenThrows(/without ApiKeyCreated/);
    }
  });
});
