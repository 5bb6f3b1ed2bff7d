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
/** The decider takes the subject of an existing key from its state. */
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
const made = keyCreated('key-1');

describe('command API: creating an API key', () => {
  it('makes an active key', () => {
    given()
      .when(create)
      .then(keyCreated('key-1', {}, metadata));
  });

  it('is refused where there is or was one', () => {
    given(made).when(create).thenRefused('exists');
    given(made, keyRevoked('key-1', 2)).when(create).thenRefused('exists');
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
    it(`changes ${what}, and tells the rest as it is`, () => {
      given(made)
        .when(change(values))
        .then(keyChanged('key-1', 2, data, metadata));
    });
  }

  it('writes nothing where it is so already', () => {
    const same = [
      {},
      { name: 'website' },
      { plan: 'HOBBY', active: true },
      { scopes: [...scopeNames].reverse(), expiresIn: null },
    ] as const;
    for (const values of same) given(made).when(change(values)).thenNothing();
    given(made, keyChanged('key-1', 2, off))
      .when(change({ active: false }))
      .thenNothing();
  });

  it('lets an inactive key be active again', () => {
    given(made, keyChanged('key-1', 2, off))
      .when(change({ active: true }))
      .then(keyChanged('key-1', 3, {}, metadata));
  });

  it('is refused for what nobody made, and for what is revoked', () => {
    given()
      .when(change({ active: true }))
      .thenRefused('unknown');
    given(made, keyRevoked('key-1', 2))
      .when(change({ active: true }))
      .thenRefused('revoked');
  });
});

describe('command API: revoking an API key', () => {
  it('is for good, and once', () => {
    given(made)
      .when(revoke)
      .then(keyRevoked('key-1', 2, metadata));
    given(made, keyRevoked('key-1', 2)).when(revoke).thenNothing();
    given().when(revoke).thenRefused('unknown');
  });

  it('is never metadata before the key’s last event', () => {
    given(keyCreated('key-1', {}, { time: at(99) }))
      .when(revoke)
      .then(keyRevoked('key-1', 2, { ...metadata, time: at(99) }));
  });
});

/** The root `key-1`, or a key below it, as the ledger has it. */
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
const madeChild = keyCreated('key-2', child);
const grandchild = keyCreated('key-3', { ...child, ancestors: ['key-1', 'key-2'] });
const otherHash = 'cd'.repeat(32);

describe('command API: a key that makes a key', () => {
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

  it('gives all its scopes by default, and is the ancestor of the new key', () => {
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
  for (const [own, asked, expected] of ends) {
    it(`makes it end at ${expected}, itself at ${own}, where ${asked} s are asked for`, () => {
      const timeAt = (seconds: number | null) =>
        seconds === null ? null : at(seconds).toISOString();
      given()
        .when(derive({ by: keyWith({ expiresAt: timeAt(own) }), expiresIn: asked }))
        .then(keyCreated('key-9', { ...derived, expiresAt: timeAt(expected) }, metadata));
    });
  }

  it('is refused when it is over itself, or there are too many', () => {
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

  it('changes itself and what descends from it, and nothing else', () => {
    const data = { ...child, name: 'shop' };
    given(madeChild)
      .when(byRoot({ name: 'shop' }))
      .then(keyChanged('key-2', 2, { name: 'shop', plan: null, scopes: readers }, metadata));
    given(grandchild)
      .when(byRoot({ name: 'shop' }))
      .then(keyChanged('key-3', 2, { name: 'shop', plan: null, scopes: readers }, metadata));
    given(made)
      .when(byRoot({ name: 'shop' }))
      .then(keyChanged('key-1', 2, { name: 'shop' }, metadata));
    const others = [keyWith(data, 'key-2'), keyWith({}, 'key-8')];
    for (const by of others) {
      given(made)
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
    given(madeChild)
      .when(byRoot({ scopes: ['links:read', 'links:write'] }, by))
      .thenRefused('scopeLacking', { scope: 'links:write' });
    given(madeChild)
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
    // Its own end and scopes are no obstacle.
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
    const root = keyWith();
    const parent = keyWith(child, 'key-2');
    const offBy = (deactivatedBy: string | null) =>
      keyChanged('key-3', 2, { ...own, status: 'inactive', deactivatedBy });
    const on = keyChanged('key-3', 3, own, metadata);

    it('an ancestor of the asking key deactivated it', () => {
      const made = keyCreated('key-3', chain);
      const activate = (by: ApiKeyState) => byRoot({ active: true }, by);
      given(made, offBy('key-1')).when(activate(parent)).thenRefused('deactivatedAbove');
      given(made, offBy('key-1')).when(activate(root)).then(on);
      for (const by of [parent, root]) {
        given(made, offBy('key-2')).when(activate(by)).then(on);
        given(made, offBy('key-3')).when(activate(by)).then(on);
      }
    });

    it('the log does not name the key that did: then the root alone does', () => {
      const made = keyCreated('key-3', chain);
      given(made, offBy(null))
        .when(byRoot({ active: true }, parent))
        .thenRefused('deactivatedAbove');
      given(made, offBy(null))
        .when(byRoot({ active: true }, root))
        .then(on);
    });

    it('an ancestor deactivates it once more', () => {
      const made = keyCreated('key-3', chain);
      const deactivate = (by: ApiKeyState) => byRoot({ active: false }, by);
      const offByRoot = { ...own, status: 'inactive', deactivatedBy: 'key-1' } as const;
      given(made, offBy('key-2'))
        .when(deactivate(root))
        .then(keyChanged('key-3', 3, offByRoot, metadata));
      given(made, offBy('key-1')).when(deactivate(root)).thenNothing();
      given(made, offBy('key-1')).when(deactivate(parent)).thenNothing();
      given(made, offBy('key-1'))
        .when(byRoot({ active: false, name: 'shop' }, parent))
        .then(keyChanged('key-3', 3, { ...offByRoot, name: 'shop' }, metadata));
    });
  });

  it('switches off, and on again what no operator switched off', () => {
    const own = { plan: null, scopes: readers };
    const inactive = { ...own, status: 'inactive', deactivatedBy: 'key-1' } as const;
    const off = keyChanged('key-2', 2, inactive, metadata);
    const suspended = keyChanged('key-2', 2, { ...own, status: 'suspended' }, metadata);
    given(madeChild)
      .when(byRoot({ active: false }))
      .then(off);
    given(madeChild, off)
      .when(byRoot({ active: true }))
      .then(keyChanged('key-2', 3, own, metadata));
    given(madeChild, suspended)
      .when(byRoot({ active: true }))
      .thenRefused('suspended');
    given(madeChild, suspended)
      .when(byRoot({ active: false }))
      .thenNothing();
    given(madeChild, off)
      .when(change({ active: false }))
      .then(keyChanged('key-2', 3, { ...own, status: 'suspended' }, metadata));
  });

  it('has no plan of its own that anyone could change', () => {
    given(madeChild)
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

  it('gives another secret, and ends the earlier ones', () => {
    const data = { hash: otherHash, earlierEndAt: at(70).toISOString() };
    given(madeChild)
      .when(rotate(60))
      .then(keyRotated('key-2', 2, data, metadata));
  });

  it('keeps 100 secrets at most, and never refuses to end them all', () => {
    const rotations = Array.from({ length: 99 }, (_, index) => {
      const hash = index.toString(16).padStart(64, '0');
      return keyRotated('key-1', index + 2, { hash, earlierEndAt: at(9_999).toISOString() });
    });
    given(made, ...rotations)
      .when(rotate(60))
      .thenRefused('tooManySecrets');
    given(made, ...rotations.slice(1))
      .when(rotate(60))
      .then(
        keyRotated('key-1', 101, { hash: otherHash, earlierEndAt: at(70).toISOString() }, metadata),
      );
    given(made, ...rotations)
      .when(rotate(0))
      .then(
        keyRotated('key-1', 101, { hash: otherHash, earlierEndAt: at(10).toISOString() }, metadata),
      );
  });

  it('touches nothing but itself and what descends from it', () => {
    const by = keyWith(child, 'key-2');
    for (const values of [rotate(0, by), { type: 'RevokeApiKey', by } as const]) {
      given(made).when(values).thenRefused('unknown');
    }
    given(made)
      .when({ type: 'RevokeApiKey', by: keyWith({ scopes: ['qr:read'] }) })
      .thenRefused('scopeLacking', { scope: 'keys:manage' });
    given(madeChild)
      .when({ type: 'RevokeApiKey', by })
      .then(keyRevoked('key-2', 2, metadata));
    given(madeChild, keyRevoked('key-2', 2)).when(rotate(0)).thenRefused('revoked');
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

  it('are numbered without a gap, never go back in time, and each changes something', () => {
    const steps = fc.array(fc.tuple(command, fc.integer({ min: -100, max: 300 })));
    fc.assert(
      fc.property(steps, (asked) => {
        let state: ApiKeyState = noKey;
        let now = noon;
        const events: ApiKeyEvent[] = [];
        for (const [wanted, seconds] of asked) {
          now = new Date(now.getTime() + seconds * 1_000);
          const metadata = metadataOf(now, idOf(events.length));
          const decided = commandOf<ApiKeyCommand>('key-1', metadata)(wanted);
          const decision = apiKeyDecider.decide(decided, state);
          if (decision.type !== 'accepted') continue;
          const before = state;
          state = decision.events.reduce(evolveApiKey, state);
          events.push(...decision.events);
          if (state.status === 'none') throw new Error('A decided key is known');
          const { key, status } = state;
          expect(key.sequence).to.equal(events.length);
          expect(before.status).to.not.equal('revoked');
          if (before.status !== 'none') {
            const values = (of: typeof key) => [of.name, of.plan, of.scopes, of.expiresAt];
            const same = before.status === status;
            if (same) expect(values(key)).to.not.deep.equal(values(before.key));
          }
          // The same again changes nothing.
          const again = apiKeyDecider.decide(decided, state);
          expect(again.type).to.not.equal('accepted');
        }
        const times = events.map(({ time }) => time);
        expect(times).to.deep.equal([...times].sort());
      }),
    );
  });
});
