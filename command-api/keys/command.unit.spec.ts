import { evolveApiKey, noKey, type ApiKeyState } from '../../schemas/folds/api-key.js';
import { scopeNames, type Scope } from '../../schemas/scopes.js';
import {
  at,
  keyChanged,
  keyCreated,
  keyHash,
  keyRevoked,
  keyRotated,
} from '../../schemas/testing/events.js';
import { type FlatCommand, metadataOfEvent, specify } from '../testing/decisions.js';
import {
  apiKeyDecider,
  type ApiKeyCommand,
  type DeriveApiKey,
  type KeyAuthority,
  type KeyChanges,
} from './command.js';

type Values = FlatCommand<ApiKeyCommand>;

const { accepts, ignores, refuses } = specify('key-1', apiKeyDecider);
const derivation = specify('key-9', apiKeyDecider);

const create: Values = {
  type: 'CreateApiKey',
  name: 'website',
  plan: 'HOBBY',
  account: 'acme',
  scopes: scopeNames,
  expiresIn: null,
  hash: keyHash,
};
const otherHash = 'cd'.repeat(32);
const revoke = (by: KeyAuthority = 'operator'): Values => ({ type: 'RevokeApiKey', by });
const change = (values: KeyChanges, by: KeyAuthority = 'operator'): Values => ({
  ...{ type: 'ChangeApiKey', by },
  ...values,
});
const rotate = (overlapSeconds: number, by: ApiKeyState): Values => ({
  ...{ type: 'RotateApiKey', hash: otherHash, overlapSeconds, by },
});
const rename = (by: ApiKeyState) => change({ name: 'shop' }, by);
const activate = (by: ApiKeyState) => change({ active: true }, by);
const deactivate = (by: ApiKeyState) => change({ active: false }, by);

const metadata = metadataOfEvent();
const secondsToEnd = (seconds: number | null) => ({
  expiresAt: seconds === null ? null : at(seconds).toISOString(),
});

/** The state of the root `key-1`, or of a descendant. */
const keyWith = (
  data: Parameters<typeof keyCreated>[1] = {},
  id = 'key-1',
  status: 'active' | 'inactive' = 'active',
): ApiKeyState => {
  const events = [keyCreated(id, data), keyChanged(id, 2, { ...data, status })];
  return events.slice(0, status === 'active' ? 1 : 2).reduce(evolveApiKey, noKey);
};

// The chain of keys: key-1 (root), key-2, key-3.
const readers: Scope[] = ['links:read', 'stats:read', 'keys:manage'];
const derived = { plan: null, scopes: readers };
const underRoot = { ...derived, ancestors: ['key-1'] };
const underChild = { ...derived, ancestors: ['key-1', 'key-2'] };
const rootKey = keyCreated('key-1');
const childKey = keyCreated('key-2', underRoot);
const grandchild = keyCreated('key-3', underChild);
const root = keyWith();
const child = keyWith(underRoot, 'key-2');
const renamed = (id: string, data: object = derived) =>
  keyChanged(id, 2, { ...data, name: 'shop' }, metadata);

describe('command API: a command of an operator on an API key', () => {
  const off = { status: 'suspended' } as const;
  const inactive = keyChanged('key-1', 2, off);
  const gone = [rootKey, keyRevoked('key-1', 2)];

  it('creates an active key once, even after a revocation', () => {
    accepts([], create, keyCreated('key-1', {}, metadata));
    refuses([rootKey], create, 'exists');
    refuses(gone, create, 'exists');
  });

  const end = secondsToEnd(70);
  const changes: readonly [KeyChanges, Parameters<typeof keyChanged>[2], string][] = [
    [{ name: 'shop' }, { name: 'shop' }, 'name'],
    [{ plan: 'PRO' }, { plan: 'PRO' }, 'plan'],
    [{ active: false }, off, 'activation'],
    [{ scopes: ['qr:read', 'links:read'] }, { scopes: ['links:read', 'qr:read'] }, 'scopes'],
    [{ expiresIn: 60 }, end, 'end'],
    [
      { name: 'shop', plan: 'PRO', active: false, scopes: [], expiresIn: 60 },
      { name: 'shop', plan: 'PRO', ...off, scopes: [], ...end },
      'five values together',
    ],
  ];
  for (const [values, data, what] of changes) {
    it(`changes its ${what}, with the other values unchanged`, () => {
      accepts([rootKey], change(values), keyChanged('key-1', 2, data, metadata));
    });
  }

  it('writes no event if nothing changes', () => {
    const same: readonly KeyChanges[] = [
      ...[{}, { name: 'website' }, { plan: 'HOBBY', active: true } as const],
      { scopes: [...scopeNames].reverse(), expiresIn: null },
    ];
    for (const values of same) ignores([rootKey], change(values));
    ignores([rootKey, inactive], change({ active: false }));
  });

  it('revokes a key permanently, with one event', () => {
    accepts([rootKey], revoke(), keyRevoked('key-1', 2, metadata));
    ignores(gone, revoke());
    refuses(gone, change({ active: true }), 'revoked');
    refuses([], revoke(), 'unknown');
    refuses([], change({ active: true }), 'unknown');
  });

  it('is never earlier than the last event of the key', () => {
    const later = { time: at(99) };
    const revoked = keyRevoked('key-1', 2, { ...metadata, ...later });
    accepts([keyCreated('key-1', {}, later)], revoke(), revoked);
  });

  it('does not change the plan of a derived key, which has the plan of its root', () => {
    refuses([childKey], change({ plan: 'PRO' }), 'planOfRoot');
  });
});

describe('command API: a key that creates a key', () => {
  const derive = (values: Partial<DeriveApiKey['data']> = {}): Values => ({
    ...{ type: 'DeriveApiKey', name: 'reader', expiresIn: null, hash: otherHash },
    ...{ by: root, scopes: null, liveKeys: 3 },
    ...values,
  });
  const expectKey = (values: Partial<DeriveApiKey['data']>, data: object) => {
    const key = { name: 'reader', plan: null, ancestors: ['key-1'], hash: otherHash, ...data };
    derivation.accepts([], derive(values), keyCreated('key-9', key, metadata));
  };

  it('passes on all its scopes by default, and is the ancestor of the new key', () => {
    expectKey({}, {});
    expectKey({ by: child }, { ancestors: ['key-1', 'key-2'], scopes: readers });
  });

  it('gives only scopes that it has, and needs keys:manage', () => {
    const by = keyWith({ scopes: readers });
    const scopes: Scope[] = ['links:read', 'stats:read'];
    expectKey({ by, scopes: [...scopes].reverse() }, { scopes });
    const wider = derive({ by, scopes: ['links:read', 'qr:read', 'links:write'] });
    derivation.refuses([], wider, 'scopeLacking', { scope: 'qr:read' });
    const without = derive({ by: keyWith({ scopes: ['links:read'] }), scopes: [] });
    derivation.refuses([], without, 'scopeLacking', { scope: 'keys:manage' });
  });

  const ends = [
    [null, null, null],
    [null, 60, 70],
    [100, null, 100],
    [100, 60, 70],
    [100, 600, 100],
  ] as const;
  for (const [own, requested, expected] of ends) {
    it(`sets the end ${expected} if it ends at ${own} and ${requested} s are requested`, () => {
      expectKey({ by: keyWith(secondsToEnd(own)), expiresIn: requested }, secondsToEnd(expected));
    });
  }

  it('is refused if it has ended, or if there are too many keys', () => {
    for (const by of [noKey, keyWith({}, 'key-1', 'inactive'), keyWith(secondsToEnd(10))]) {
      derivation.refuses([], derive({ by }), 'callerInvalid');
    }
    derivation.refuses([], derive({ liveKeys: 100 }), 'tooManyKeys');
    const ancestors = Array.from({ length: 100 }, (_, index) => `key-${index}`);
    derivation.refuses([], derive({ by: keyWith({ ancestors }) }), 'tooDeep');
  });
});

describe('command API: a key that manages a key', () => {
  it('rotates and revokes only itself and its descendants, with keys:manage', () => {
    for (const values of [rotate(0, child), revoke(child)]) refuses([rootKey], values, 'unknown');
    const missing = { scope: 'keys:manage' } as const;
    refuses([rootKey], revoke(keyWith({ scopes: ['qr:read'] })), 'scopeLacking', missing);
    accepts([childKey], revoke(child), keyRevoked('key-2', 2, metadata));
    refuses([childKey, keyRevoked('key-2', 2)], rotate(0, root), 'revoked');
  });

  it('gives only scopes that it has, itself included', () => {
    const give = (...scopes: Scope[]) => change({ scopes }, child);
    refuses([grandchild], give('qr:read'), 'scopeLacking', { scope: 'qr:read' });
    const missing = { scope: 'links:write' } as const;
    refuses([childKey], give('links:read', 'links:write'), 'scopeLacking', missing);
    const data = { plan: null, scopes: ['links:read' as const] };
    accepts([childKey], give('links:read'), keyChanged('key-2', 2, data, metadata));
  });

  const parent = (data: Parameters<typeof keyCreated>[1]) =>
    keyWith({ ...underRoot, ...data }, 'key-2');
  const ending = secondsToEnd;

  for (const [own, theirs, what] of [
    [{ scopes: ['keys:manage'] as Scope[] }, {}, 'has two more scopes'],
    [{ scopes: ['links:read', 'keys:manage'] as Scope[] }, {}, 'has one more scope'],
    [ending(60), {}, 'does not end'],
    [ending(60), ending(61), 'ends later'],
  ] as const) {
    it(`does not manage a descendant that ${what}`, () => {
      const by = parent(own);
      const below = keyCreated('key-3', { ...underChild, ...theirs });
      const commands = [rename(by), change({ scopes: [] }, by), deactivate(by), rotate(0, by)];
      for (const values of [...commands, revoke(by)]) refuses([below], values, 'unknown');
    });
  }

  it('manages itself, and a descendant whose scopes and end are within its own', () => {
    for (const [own, theirs] of [
      [{}, ending(60)],
      [ending(60), ending(60)],
      [ending(60), { ...ending(59), scopes: [] as Scope[] }],
    ] as const) {
      const below = keyCreated('key-3', { ...underChild, ...theirs });
      accepts([below], rename(parent(own)), renamed('key-3', { ...derived, ...theirs }));
    }
    const self = keyCreated('key-2', { ...underRoot, ...ending(60) });
    accepts([self], rename(parent(ending(60))), renamed('key-2', { ...derived, ...ending(60) }));
  });

  const offBy = (deactivatedBy: string | null, sequence = 2, data: object = {}) =>
    keyChanged(
      'key-3',
      sequence,
      { ...derived, status: 'inactive', deactivatedBy, ...data },
      metadata,
    );
  const on = keyChanged('key-3', 3, derived, metadata);

  it('reactivates a key unless an ancestor of the calling key deactivated it', () => {
    refuses([grandchild, offBy('key-1')], activate(child), 'deactivatedAbove');
    accepts([grandchild, offBy('key-1')], activate(root), on);
    for (const by of [child, root]) {
      accepts([grandchild, offBy('key-2')], activate(by), on);
      accepts([grandchild, offBy('key-3')], activate(by), on);
    }
    // Events before version 3 do not name the key: then only the root reactivates it.
    refuses([grandchild, offBy(null)], activate(child), 'deactivatedAbove');
    accepts([grandchild, offBy(null)], activate(root), on);
  });

  it('stays deactivated by an ancestor, even if a descendant deactivates or renames it', () => {
    accepts([grandchild, offBy('key-2')], deactivate(root), offBy('key-1', 3));
    for (const by of [root, child]) ignores([grandchild, offBy('key-1')], deactivate(by));
    const renaming = change({ active: false, name: 'shop' }, child);
    accepts([grandchild, offBy('key-1')], renaming, offBy('key-1', 3, { name: 'shop' }));
  });

  it('deactivates keys, and reactivates them unless an operator deactivated them', () => {
    const changed = (sequence: number, data: object) =>
      keyChanged('key-2', sequence, { ...derived, ...data }, metadata);
    const off = changed(2, { status: 'inactive', deactivatedBy: 'key-1' });
    const suspended = changed(2, { status: 'suspended' });
    accepts([childKey], deactivate(root), off);
    accepts([childKey, off], activate(root), changed(3, {}));
    refuses([childKey, suspended], activate(root), 'suspended');
    ignores([childKey, suspended], deactivate(root));
    accepts([childKey, off], change({ active: false }), changed(3, { status: 'suspended' }));
  });
});

describe('command API: rotating an API key', () => {
  const rotated = (id: string, sequence: number, seconds: number) => {
    const data = { hash: otherHash, earlierEndAt: at(seconds).toISOString() };
    return keyRotated(id, sequence, data, metadata);
  };

  it('creates a new secret, and ends the earlier ones after the overlap', () => {
    accepts([childKey], rotate(60, root), rotated('key-2', 2, 70));
  });

  it('allows at most 100 secrets, and always allows to end all of them', () => {
    const rotations = Array.from({ length: 99 }, (_, index) => {
      const hash = index.toString(16).padStart(64, '0');
      return keyRotated('key-1', index + 2, { hash, earlierEndAt: at(9_999).toISOString() });
    });
    refuses([rootKey, ...rotations], rotate(60, root), 'tooManySecrets');
    accepts([rootKey, ...rotations.slice(1)], rotate(60, root), rotated('key-1', 101, 70));
    accepts([rootKey, ...rotations], rotate(0, root), rotated('key-1', 101, 10));
  });
});
