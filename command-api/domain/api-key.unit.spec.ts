import { expect } from 'chai';
import fc from 'fast-check';
import type { ApiKeyEvent } from '../../schemas/events/catalogue.js';
import { evolveApiKey, noKey, type ApiKeyState } from '../../schemas/folds/api-key.js';
import { planNames } from '../../schemas/plans.js';
import { deciderSpecification } from '../../schemas/testing/decider-specification.js';
import {
  at,
  countedIds,
  idOf,
  keyChanged,
  keyCreated,
  keyHash,
  keyRevoked,
  noon,
} from '../../schemas/testing/events.js';
import { decideApiKey, type ApiKeyCommand } from './api-key.js';

const given = deciderSpecification({
  initialState: noKey,
  evolve: evolveApiKey,
  decide: (command: ApiKeyCommand, state) =>
    decideApiKey(command, state, {
      now: at(10),
      newId: countedIds(),
      actor: 'maria',
      requestId: 'request-1',
    }),
});

const create: ApiKeyCommand = {
  type: 'CreateApiKey',
  id: 'key-1',
  name: 'website',
  plan: 'HOBBY',
  account: 'acme',
  hash: keyHash,
};
const revoke: ApiKeyCommand = { type: 'RevokeApiKey' };
const told = { id: idOf(1), actor: 'maria', correlationId: 'request-1', time: at(10) };
const made = keyCreated('key-1');

describe('command API: creating an API key', () => {
  it('makes an active key', () => {
    given()
      .when(create)
      .then(keyCreated('key-1', {}, told));
  });

  it('is refused where there is or was one', () => {
    given(made).when(create).thenRefused('exists');
    given(made, keyRevoked('key-1', 2)).when(create).thenRefused('exists');
  });
});

describe('command API: changing an API key', () => {
  const changes: readonly [Partial<{ name: string; plan: 'PRO'; active: boolean }>, string][] = [
    [{ name: 'shop' }, 'its name'],
    [{ plan: 'PRO' }, 'its plan'],
    [{ active: false }, 'whether it is active'],
    [{ name: 'shop', plan: 'PRO', active: false }, 'all of it'],
  ];
  for (const [change, what] of changes) {
    it(`changes ${what}, and tells the rest as it is`, () => {
      const data = { name: 'website', plan: 'HOBBY', active: true, ...change } as const;
      given(made)
        .when({ type: 'ChangeApiKey', ...change })
        .then(keyChanged('key-1', 2, data, told));
    });
  }

  it('writes nothing where it is so already', () => {
    for (const change of [{}, { name: 'website' }, { plan: 'HOBBY' as const, active: true }]) {
      given(made)
        .when({ type: 'ChangeApiKey', ...change })
        .thenNothing();
    }
    given(made, keyChanged('key-1', 2, { name: 'website', plan: 'HOBBY', active: false }))
      .when({ type: 'ChangeApiKey', active: false })
      .thenNothing();
  });

  it('lets an inactive key be active again', () => {
    const off = { name: 'website', plan: 'HOBBY', active: false } as const;
    given(made, keyChanged('key-1', 2, off))
      .when({ type: 'ChangeApiKey', active: true })
      .then(keyChanged('key-1', 3, { ...off, active: true }, told));
  });

  it('is refused for what nobody made, and for what is revoked', () => {
    given().when({ type: 'ChangeApiKey', active: true }).thenRefused('unknown');
    given(made, keyRevoked('key-1', 2))
      .when({ type: 'ChangeApiKey', active: true })
      .thenRefused('revoked');
  });
});

describe('command API: revoking an API key', () => {
  it('is for good, and once', () => {
    given(made)
      .when(revoke)
      .then(keyRevoked('key-1', 2, told));
    given(made, keyRevoked('key-1', 2)).when(revoke).thenNothing();
    given().when(revoke).thenRefused('unknown');
  });

  it('is never told before the key’s last event', () => {
    given(keyCreated('key-1', {}, { time: at(99) }))
      .when(revoke)
      .then(keyRevoked('key-1', 2, { ...told, time: at(99) }));
  });
});

describe('command API: events of an API key', () => {
  const command: fc.Arbitrary<ApiKeyCommand> = fc.oneof(
    fc.constant(create),
    fc.record(
      {
        type: fc.constant('ChangeApiKey' as const),
        name: fc.constantFrom('website', 'shop'),
        plan: fc.constantFrom(...planNames),
        active: fc.boolean(),
      },
      { requiredKeys: ['type'] },
    ),
    fc.constant(revoke),
  );

  it('are numbered without a gap, never go back in time, and each changes something', () => {
    const steps = fc.array(fc.tuple(command, fc.integer({ min: -100, max: 300 })));
    fc.assert(
      fc.property(steps, (asked) => {
        const newId = countedIds();
        let state: ApiKeyState = noKey;
        let now = noon;
        const events: ApiKeyEvent[] = [];
        for (const [wanted, seconds] of asked) {
          now = new Date(now.getTime() + seconds * 1_000);
          const context = { now, newId, actor: 'maria', requestId: 'r' };
          const decision = decideApiKey(wanted, state, context);
          if (decision.type !== 'accepted') continue;
          const before = state;
          state = decision.events.reduce(evolveApiKey, state);
          events.push(...decision.events);
          if (state.status === 'none') throw new Error('A decided key is known');
          const { key, status } = state;
          expect(key.sequence).to.equal(events.length);
          expect(before.status).to.not.equal('revoked');
          if (before.status !== 'none') {
            const values = (known: typeof key) => [known.name, known.plan];
            const same = before.status === status;
            if (same) expect(values(key)).to.not.deep.equal(values(before.key));
          }
          // The same again changes nothing.
          const again = decideApiKey(wanted, state, context);
          expect(again.type).to.not.equal('accepted');
        }
        const times = events.map(({ time }) => time);
        expect(times).to.deep.equal([...times].sort());
      }),
    );
  });
});
