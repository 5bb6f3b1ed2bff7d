import { expect } from 'chai';
import fc from 'fast-check';
import type { ApiKeyEvent } from '../../schemas/events/catalogue.js';
import { evolveApiKey, noKey, type ApiKeyState } from '../../schemas/folds/api-key.js';
import { planNames } from '../../schemas/plans.js';
import { scopeNames, type Scope } from '../../schemas/scopes.js';
import {
  commandOf,
  deciderSpecification,
  type FlatCommand,
} from '../../schemas/testing/decider-specification.js';
import {
  at,
  idOf,
  keyChanged,
  keyCreated,
  keyHash,
  keyRevoked,
  keyRotated,
  noon,
} from '../../schemas/testing/events.js';
import {
  apiKeyDecider,
  type ApiKeyCommand,
  type DeriveApiKey,
  type KeyChanges,
} from './command.js';

const metadataOf = (now: Date, id = idOf(1)) => ({
  now,
  id,
  actor: 'maria',
  requestId: 'request-1',
});
const subjectOf = ({ type }: FlatCommand<ApiKeyCommand>) =>
  type === 'DeriveApiKey' ? 'key-9' : 'key-1';

const given = deciderSpecification({
  ...apiKeyDecider,
  decide: (values: FlatCommand<ApiKeyCommand>, state) =>
    apiKeyDecider.decide(
      commandOf<ApiKeyCommand>(subjectOf(values), metadataOf(at(10)))(values),
      state,
    ),
});

type Values = FlatCommand<ApiKeyCommand>;

const create: Values = {
  type: 'CreateApiKey',
  name: 'website',
  plan: 'HOBBY',
  account: 'acme',
  scopes: scopeNames,
  expiresIn: null,
  hash: keyHash,
};
const revoke: Values = { type: 'RevokeApiKey', by: 'operator' };
const change = (values: KeyChanges) =>
  ({ type: 'ChangeApiKey', by: 'operator', ...values }) as const;
const metadata = { id: idOf(1), actor: 'maria', correlationId: 'request-1', time: at(10) };
const rootKey = keyCreated('key-1');

describe('command API: creating an API key', () => {
  it('creates an active key', () => {
    given()
      .when(create)
      .then(keyCreated('key-1', {}, metadata));
  });

  it('is refused if the key exists or was revoked', () => {
    given(rootKey).when(create).thenRefused('exists');
    given(rootKey, keyRevoked('key-1', 2)).when(create).thenRefused('exists');
  });
});

describe('command API: changing an API key', () => {
  const off = { status: 'suspended' } as const;
  const end = { expiresAt: at(70).toISOString() };
  const changes: readonly [
    Parameters<typeof change>[0],
    Parameters<typeof keyChanged>[2],
    string,
  ][] = [
    [{ name: 'shop' }, { name: 'shop' }, 'its name'],
    [{ plan: 'PRO' }, { plan: 'PRO' }, 'its plan'],
    [{ active: false }, off, 'whether it is active'],
    [{ scopes: ['qr:read', 'links:read'] }, { scopes: ['links:read', 'qr:read'] }, 'its scopes'],
    [{ expiresIn: 60 }, end, 'its end'],
    [
      { name: 'shop', plan: 'PRO', active: false, scopes: [], expiresIn: 60 },
      { name: 'shop', plan: 'PRO', ...off, scopes: [], ...end },
      'all of it',
    ],
  ];
  for (const [values, data, what] of changes) {
    it(`changes ${what}, with the other values unchanged`, () => {
      given(rootKey)
        .when(change(values))
        .then(keyChanged('key-1', 2, data, metadata));
    });
  }

  it('writes no event if nothing changes', () => {
    const same = [
      {},
      { name: 'website' },
      { plan: 'HOBBY', active: true },
      { scopes: [...scopeNames].reverse(), expiresIn: null },
    ] as const;
    for (const values of same) given(rootKey).when(change(values)).thenNothing();
    given(rootKey, keyChanged('key-1', 2, off))
      .when(change({ active: false }))
      .thenNothing();
  });

  it('reactivates an inactive key', () => {
    given(rootKey, keyChanged('key-1', 2, off))
      .when(change({ active: true }))
      .then(keyChanged('key-1', 3, {}, metadata));
  });

  it('is refused for unknown and revoked keys', () => {
    given()
      .when(change({ active: true }))
      .thenRefused('unknown');
    given(rootKey, keyRevoked('key-1', 2))
      .when(change({ active: true }))
      .thenRefused('revoked');
  });
});

describe('command API: revoking an API key', () => {
  it('is permanent, and writes one event', () => {
    given(rootKey)
      .when(revoke)
      .then(keyRevoked('key-1', 2, metadata));
    given(rootKey, keyRevoked('key-1', 2)).when(revoke).thenNothing();
    given().when(revoke).thenRefused('unknown');
  });

  it('is never earlier than the last event of the key', () => {
    given(keyCreated('key-1', {}, { time: at(99) }))
      .when(revoke)
      .then(keyRevoked('key-1', 2, { ...metadata, time: at(99) }));
  });
});

/** The state of the root `key-1`, or of a descendant. */
const keyWith = (
  data: Parameters<typeof keyCreated>[1] = {},
  id = 'key-1',
  status: 'active' | 'inactive' = 'active',
): ApiKeyState => {
  const states = [keyCreated(id, data), keyChanged(id, 2, { ...data, status })];
  return states.slice(0, status === 'active' ? 1 : 2).reduce(evolveApiKey, noKey);
};

interface Terms {
  readonly scopes?: Scope[];
  readonly expiresAt?: string;
}

const readers: Scope[] = ['links:read', 'stats:read', 'keys:manage'];
const child = { plan: null, ancestors: ['key-1'], scopes: readers };
const childKey = keyCreated('key-2', child);
const grandchild = keyCreated('key-3', { ...child, ancestors: ['key-1', 'key-2'] });
const otherHash = 'cd'.repeat(32);

describe('command API: a key that creates a key', () => {
  const derive = (values: Partial<DeriveApiKey['data']>): Values => ({
    type: 'DeriveApiKey',
    name: 'reader',
    expiresIn: null,
    hash: otherHash,
    by: keyWith(),
    scopes: null,
    liveKeys: 3,
    ...values,
  });
  const derived = { name: 'reader', plan: null, ancestors: ['key-1'], hash: otherHash };

  it('passes on all its scopes by default, and is the ancestor of the new key', () => {
    given()
      .when(derive({}))
      .then(keyCreated('key-9', derived, metadata));
    const ancestors = ['key-1', 'key-2'];
    given()
      .when(derive({ by: keyWith(child, 'key-2') }))
      .then(keyCreated('key-9', { ...derived, ancestors, scopes: readers }, metadata));
  });

  it('gives only scopes that it has', () => {
    const by = keyWith({ scopes: readers });
    given()
      .when(derive({ by, scopes: ['stats:read', 'links:read'] }))
      .then(keyCreated('key-9', { ...derived, scopes: ['links:read', 'stats:read'] }, metadata));
    given()
      .when(derive({ by, scopes: ['links:read', 'qr:read', 'links:write'] }))
      .thenRefused('scopeLacking', { scope: 'qr:read' });
    given()
      .when(derive({ by: keyWith({ scopes: ['links:read'] }), scopes: [] }))
      .thenRefused('scopeLacking', { scope: 'keys:manage' });
  });

  const ends: readonly [number | null, number | null, number | null][] = [
    [null, null, null],
    [null, 60, 70],
    [100, null, 100],
    [100, 60, 70],
    [100, 600, 100],
  ];
  for (const [own, requested, expected] of ends) {
    it(`sets the end ${expected} if it ends at ${own} and ${requested} s are requested`, () => {
      const timeAt = (seconds: number | null) =>
        seconds === null ? null : at(seconds).toISOString();
      given()
        .when(derive({ by: keyWith({ expiresAt: timeAt(own) }), expiresIn: requested }))
        .then(keyCreated('key-9', { ...derived, expiresAt: timeAt(expected) }, metadata));
    });
  }

  it('is refused if the creating key has ended, or if there are too many keys', () => {
    const over = { expiresAt: at(10).toISOString() };
    for (const by of [noKey, keyWith({}, 'key-1', 'inactive'), keyWith(over)]) {
      given().when(derive({ by })).thenRefused('callerInvalid');
    }
    given()
      .when(derive({ liveKeys: 100 }))
      .thenRefused('tooManyKeys');
    const ancestors = Array.from({ length: 100 }, (_, index) => `key-${index}`);
    given()
      .when(derive({ by: keyWith({ ancestors }) }))
      .thenRefused('tooDeep');
  });
});

describe('command API: a key that changes a key', () => {
  const byRoot = (values: object, by: ApiKeyState = keyWith()) =>
    ({ type: 'ChangeApiKey', by, ...values }) as Values;

  it('changes only itself and its descendants', () => {
    const data = { ...child, name: 'shop' };
    given(childKey)
      .when(byRoot({ name: 'shop' }))
      .then(keyChanged('key-2', 2, { name: 'shop', plan: null, scopes: readers }, metadata));
    given(grandchild)
      .when(byRoot({ name: 'shop' }))
      .then(keyChanged('key-3', 2, { name: 'shop', plan: null, scopes: readers }, metadata));
    given(rootKey)
      .when(byRoot({ name: 'shop' }))
      .then(keyChanged('key-1', 2, { name: 'shop' }, metadata));
    const others = [keyWith(data, 'key-2'), keyWith({}, 'key-8')];
    for (const by of others) {
      given(rootKey)
        .when(byRoot({ name: 'shop' }, by))
        .thenRefused('unknown');
    }
    given(grandchild)
      .when(byRoot({ name: 'shop' }, keyWith(child, 'key-4')))
      .thenRefused('unknown');
  });

  it('gives only scopes that it has, itself included', () => {
    const by = keyWith(child, 'key-2');
    given(grandchild)
      .when(byRoot({ scopes: ['qr:read'] }, by))
      .thenRefused('scopeLacking', { scope: 'qr:read' });
    given(childKey)
      .when(byRoot({ scopes: ['links:read', 'links:write'] }, by))
      .thenRefused('scopeLacking', { scope: 'links:write' });
    given(childKey)
      .when(byRoot({ scopes: ['links:read'] }, by))
      .then(keyChanged('key-2', 2, { plan: null, scopes: ['links:read'] }, metadata));
  });

  it('manages a descendant only while its scopes and end are within its own', () => {
    const rename = (by: ApiKeyState) => byRoot({ name: 'shop' }, by);
    const ending = (seconds: number) => ({ expiresAt: at(seconds).toISOString() });
    const parent = (data: Terms) => keyWith({ ...child, ...data }, 'key-2');
    const exceeding: readonly (readonly [Terms, Terms])[] = [
      [{ scopes: ['keys:manage'] }, {}],
      [{ scopes: ['links:read', 'keys:manage'] }, {}],
      [ending(60), {}],
      [ending(60), ending(61)],
    ];
    for (const [own, theirs] of exceeding) {
      const below = { ...child, ...theirs, ancestors: ['key-1', 'key-2'] };
      for (const values of [
        rename(parent(own)),
        byRoot({ scopes: [] }, parent(own)),
        byRoot({ active: false }, parent(own)),
        { type: 'RotateApiKey', hash: otherHash, overlapSeconds: 0, by: parent(own) } as const,
        { type: 'RevokeApiKey', by: parent(own) } as const,
      ]) {
        given(keyCreated('key-3', below)).when(values).thenRefused('unknown');
      }
    }
    const within: readonly (readonly [Terms, Terms])[] = [
      [{}, ending(60)],
      [ending(60), ending(60)],
      [ending(60), { ...ending(59), scopes: [] }],
    ];
    for (const [own, theirs] of within) {
      const terms = { plan: null, scopes: readers, ...theirs };
      given(keyCreated('key-3', { ...terms, ancestors: ['key-1', 'key-2'] }))
        .when(rename(parent(own)))
        .then(keyChanged('key-3', 2, { ...terms, name: 'shop' }, metadata));
    }
    // A key manages itself.
    given(keyCreated('key-2', { ...child, ...ending(60) }))
      .when(rename(parent(ending(60))))
      .then(
        keyChanged(
          'key-2',
          2,
          { plan: null, scopes: readers, ...ending(60), name: 'shop' },
          metadata,
        ),
      );
  });

  describe('reactivates a key unless', () => {
    const own = { plan: null, scopes: readers };
    const chain = { ...own, ancestors: ['key-1', 'key-2'] };
    const key = keyCreated('key-3', chain);
    const root = keyWith();
    const parent = keyWith(child, 'key-2');
    const offBy = (deactivatedBy: string | null) =>
      keyChanged('key-3', 2, { ...own, status: 'inactive', deactivatedBy });
    const on = keyChanged('key-3', 3, own, metadata);

    it('an ancestor of the calling key deactivated it', () => {
      const activate = (by: ApiKeyState) => byRoot({ active: true }, by);
      given(key, offBy('key-1')).when(activate(parent)).thenRefused('deactivatedAbove');
      given(key, offBy('key-1')).when(activate(root)).then(on);
      for (const by of [parent, root]) {
        given(key, offBy('key-2')).when(activate(by)).then(on);
        given(key, offBy('key-3')).when(activate(by)).then(on);
      }
    });

    it('the log does not name that key: then only the root does', () => {
      given(key, offBy(null))
        .when(byRoot({ active: true }, parent))
        .thenRefused('deactivatedAbove');
      given(key, offBy(null))
        .when(byRoot({ active: true }, root))
        .then(on);
    });

    it('an ancestor deactivates it again', () => {
      const deactivate = (by: ApiKeyState) => byRoot({ active: false }, by);
      const offByRoot = { ...own, status: 'inactive', deactivatedBy: 'key-1' } as const;
      given(key, offBy('key-2'))
        .when(deactivate(root))
        .then(keyChanged('key-3', 3, offByRoot, metadata));
      given(key, offBy('key-1')).when(deactivate(root)).thenNothing();
      given(key, offBy('key-1')).when(deactivate(parent)).thenNothing();
      given(key, offBy('key-1'))
        .when(byRoot({ active: false, name: 'shop' }, parent))
        .then(keyChanged('key-3', 3, { ...offByRoot, name: 'shop' }, metadata));
    });
  });

  it('deactivates keys, and reactivates them unless an operator deactivated them', () => {
    const own = { plan: null, scopes: readers };
    const inactive = { ...own, status: 'inactive', deactivatedBy: 'key-1' } as const;
    const off = keyChanged('key-2', 2, inactive, metadata);
    const suspended = keyChanged('key-2', 2, { ...own, status: 'suspended' }, metadata);
    given(childKey)
      .when(byRoot({ active: false }))
      .then(off);
    given(childKey, off)
      .when(byRoot({ active: true }))
      .then(keyChanged('key-2', 3, own, metadata));
    given(childKey, suspended)
      .when(byRoot({ active: true }))
      .thenRefused('suspended');
    given(childKey, suspended)
      .when(byRoot({ active: false }))
      .thenNothing();
    given(childKey, off)
      .when(change({ active: false }))
      .then(keyChanged('key-2', 3, { ...own, status: 'suspended' }, metadata));
  });

  it('has the plan of its root, which cannot be changed', () => {
    given(childKey)
      .when(change({ plan: 'PRO' }))
      .thenRefused('planOfRoot');
  });
});

describe('command API: rotating and revoking by a key', () => {
  const rotate = (overlapSeconds: number, by: ApiKeyState = keyWith()): Values => ({
    type: 'RotateApiKey',
    hash: otherHash,
    overlapSeconds,
    by,
  });

  it('creates a new secret, and ends the earlier ones', () => {
    const data = { hash: otherHash, earlierEndAt: at(70).toISOString() };
    given(childKey)
      .when(rotate(60))
      .then(keyRotated('key-2', 2, data, metadata));
  });

  it('allows at most 100 secrets, and always allows to end all of them', () => {
    const rotations = Array.from({ length: 99 }, (_, index) => {
      const hash = index.toString(16).padStart(64, '0');
      return keyRotated('key-1', index + 2, { hash, earlierEndAt: at(9_999).toISOString() });
    });
    given(rootKey, ...rotations)
      .when(rotate(60))
      .thenRefused('tooManySecrets');
    given(rootKey, ...rotations.slice(1))
      .when(rotate(60))
      .then(
        keyRotated('key-1', 101, { hash: otherHash, earlierEndAt: at(70).toISOString() }, metadata),
      );
    given(rootKey, ...rotations)
      .when(rotate(0))
      .then(
        keyRotated('key-1', 101, { hash: otherHash, earlierEndAt: at(10).toISOString() }, metadata),
      );
  });

  it('affects only itself and its descendants', () => {
    const by = keyWith(child, 'key-2');
    for (const values of [rotate(0, by), { type: 'RevokeApiKey', by } as const]) {
      given(rootKey).when(values).thenRefused('unknown');
    }
    given(rootKey)
      .when({ type: 'RevokeApiKey', by: keyWith({ scopes: ['qr:read'] }) })
      .thenRefused('scopeLacking', { scope: 'keys:manage' });
    given(childKey)
      .when({ type: 'RevokeApiKey', by })
      .then(keyRevoked('key-2', 2, metadata));
    given(childKey, keyRevoked('key-2', 2)).when(rotate(0)).thenRefused('revoked');
  });
});

describe('command API: events of an API key', () => {
  const command: fc.Arbitrary<Values> = fc.oneof(
    fc.constant(create),
    fc
      .record(
        {
          name: fc.constantFrom('website', 'shop'),
          plan: fc.constantFrom(...planNames),
          active: fc.boolean(),
          scopes: fc.subarray([...scopeNames]),
          expiresIn: fc.constantFrom(null, 60),
        },
        { requiredKeys: [] },
      )
      .map(change),
    fc.constant(revoke),
  );

  it('have consecutive sequences and ascending times, and each changes something', () => {
    const steps = fc.array(fc.tuple(command, fc.integer({ min: -100, max: 300 })));
    fc.assert(
      fc.property(steps, (requested) => {
        let state: ApiKeyState = noKey;
        let now = noon;
        const events: ApiKeyEvent[] = [];
        for (const [values, seconds] of requested) {
          now = new Date(now.getTime() + seconds * 1_000);
          const metadata = metadataOf(now, idOf(events.length));
          const decided = commandOf<ApiKeyCommand>('key-1', metadata)(values);
          const decision = apiKeyDecider.decide(decided, state);
          if (decision.type !== 'accepted') continue;
          const before = state;
          state = decision.events.reduce(evolveApiKey, state);
          events.push(...decision.events);
          if (state.status === 'none') throw new Error('decide() returned no key');
          const { key, status } = state;
          expect(key.sequence).to.equal(events.length);
          expect(before.status).to.not.equal('revoked');
          if (before.status !== 'none') {
            const fieldsOf = (state: typeof key) => [
              ...[state.name, state.plan, state.scopes, state.expiresAt],
            ];
            const same = before.status === status;
            if (same) expect(fieldsOf(key)).to.not.deep.equal(fieldsOf(before.key));
          }
          const repeated = apiKeyDecider.decide(decided, state);
          expect(repeated.type).to.not.equal('accepted');
        }
        const times = events.map(({ time }) => time);
        expect(times).to.deep.equal([...times].sort());
      }),
    );
  });
});
