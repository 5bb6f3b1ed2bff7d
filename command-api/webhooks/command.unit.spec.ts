import { expect } from 'chai';
import fc from 'fast-check';
import { eventId } from '../../schemas/decision.js';
import { catalogue, type EventNamed, type WebhookEvent } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import { exists, noWebhook, type WebhookState } from '../../schemas/folds/webhook.js';
import {
  commandMetadata,
  commandSpecification,
  metadataOfEvent,
} from '../../schemas/testing/decider-specification.js';
import {
  at,
  someWebhook,
  webhookChanged,
  webhookCreated,
  webhookDeleted,
  webhookDisabled,
} from '../../schemas/testing/events.js';
import { maxWebhooks, webhookDecider, type WebhookCommand } from './command.js';

const subject = 'hook-1';
const given = commandSpecification(subject, webhookDecider);

const metadata = (sequence: number, account = 'acme') => ({
  ...{ ...metadataOfEvent(), sequence, subject, account },
});

const { secret, ...terms } = someWebhook;
const creation = webhookCreated(subject, {}, { time: at(1) });
const disabled = webhookDisabled(subject, 2, 'the receiver returned 410', { time: at(2) });
const deletion = webhookDeleted(subject, 2, { time: at(2) });
const current: EventNamed<'WebhookChanged'>['data'] = {
  ...terms,
  status: 'enabled',
  secrets: [{ secret, endsAt: null }],
};
const change = { type: 'ChangeWebhook', account: 'acme' } as const;
const rotate = {
  type: 'RotateWebhookSecret',
  account: 'acme',
  secret: 'whsec_next',
  overlapSeconds: 0,
} as const;
const remove = { type: 'DeleteWebhook', account: 'acme' } as const;

/** The event of a change from the state after `creation`. */
const changedTo = (values: Partial<typeof current>, sequence = 2) =>
  newEvent('WebhookChanged', { ...current, ...values }, metadata(sequence));

const endsAt = (second: number): string => at(second).toISOString();

describe('command API: webhooks', () => {
  it('are created with their terms and a secret', () => {
    const create = { type: 'CreateWebhook', account: 'acme', terms, secret } as const;
    given()
      .when({ ...create, count: 0 })
      .then(newEvent('WebhookCreated', { ...terms, secret }, metadata(1)));
  });

  it('are at most 10 for each account', () => {
    const create = { type: 'CreateWebhook', account: 'acme', terms, secret } as const;
    expect(maxWebhooks).to.equal(10);
    given()
      .when({ ...create, count: 9 })
      .then(newEvent('WebhookCreated', { ...terms, secret }, metadata(1)));
    for (const count of [10, 11])
      given()
        .when({ ...create, count })
        .thenRefused('webhooksExhausted');
  });

  it('are changed with an event that has all values', () => {
    const changes = {
      url: 'https://other.example/',
      types: ['LinkVisited'],
      domain: 'go.example',
      description: 'Orders',
      status: 'paused',
    } as const;
    given(creation)
      .when({ ...change, changes: { ...changes, types: [...changes.types] } })
      .then(changedTo({ ...changes, types: [...changes.types] }));
    given(creation)
      .when({ ...change, changes: { description: 'Orders' } })
      .then(changedTo({ description: 'Orders' }));
    const described = webhookChanged(subject, 2, { description: 'Orders' });
    given(creation, described)
      .when({ ...change, changes: { description: null } })
      .then(changedTo({}, 3));
  });

  it('are unchanged by the values that they have', () => {
    const changes = { ...terms, status: 'enabled' as const };
    for (const same of [{}, changes, { url: terms.url }, { types: null }, { status: 'enabled' }]) {
      given(creation)
        .when({ ...change, changes: same as typeof changes })
        .thenNothing();
    }
    const typed = webhookChanged(subject, 2, { types: ['LinkVisited'], status: 'paused' });
    given(creation, typed)
      .when({ ...change, changes: { types: ['LinkVisited'], status: 'paused' } })
      .thenNothing();
  });

  it('are enabled after they were disabled, without the reason', () => {
    given(creation, disabled)
      .when({ ...change, changes: { status: 'enabled' } })
      .then(changedTo({}, 3));
    const state = [creation, disabled, changedTo({}, 3)].reduce(webhookDecider.evolve, noWebhook);
    expect(state).to.include({ status: 'enabled', disabledReason: null });
  });

  it('stay disabled if other values are changed', () => {
    const data = { ...current, url: 'https://other.example/', status: 'disabled' as const };
    given(creation, disabled)
      .when({ ...change, changes: { url: data.url } })
      .then(newEvent('WebhookChanged', data, metadata(3)));
    given(creation, disabled)
      .when({ ...change, changes: {} })
      .thenNothing();
  });

  it('are deleted permanently', () => {
    given(creation)
      .when(remove)
      .then(newEvent('WebhookDeleted', {}, metadata(2)));
    for (const command of [
      remove,
      rotate,
      { ...change, changes: { status: 'enabled' } },
    ] as const) {
      given(creation, deletion).when(command).thenRefused('notFound');
    }
  });

  it('of other accounts, and unknown ones, are not found', () => {
    const commands = [remove, rotate, { ...change, changes: { status: 'paused' } }] as const;
    for (const command of commands) {
      given().when(command).thenRefused('notFound');
      given(creation)
        .when({ ...command, account: 'other' })
        .thenRefused('notFound');
      given(creation, disabled)
        .when({ ...command, account: '' })
        .thenRefused('notFound');
    }
  });
});

describe('command API: secrets of webhooks', () => {
  const next = { secret: rotate.secret, endsAt: null };

  it('are replaced immediately without an overlap', () => {
    given(creation)
      .when(rotate)
      .then(changedTo({ secrets: [next] }));
  });

  it('sign until the overlap ends', () => {
    // The command is decided at second 10.
    given(creation)
      .when({ ...rotate, overlapSeconds: 60 })
      .then(changedTo({ secrets: [next, { secret, endsAt: endsAt(70) }] }));
  });

  it('that end earlier keep their end, and those that ended vanish', () => {
    const secrets = [
      { secret: 'a', endsAt: null },
      { secret: 'b', endsAt: endsAt(100) },
      { secret: 'c', endsAt: endsAt(30) },
      { secret: 'd', endsAt: endsAt(10) },
      { secret: 'e', endsAt: endsAt(5) },
    ];
    const rotated = webhookChanged(subject, 2, { secrets });
    given(creation, rotated)
      .when({ ...rotate, overlapSeconds: 60 })
      .then(
        changedTo(
          {
            secrets: [
              next,
              { secret: 'a', endsAt: endsAt(70) },
              { secret: 'b', endsAt: endsAt(70) },
              { secret: 'c', endsAt: endsAt(30) },
            ],
          },
          3,
        ),
      );
    given(creation, rotated)
      .when(rotate)
      .then(changedTo({ secrets: [next] }, 3));
  });

  it('are at most 5: the oldest ones vanish', () => {
    const secrets = ['a', 'b', 'c', 'd', 'e'].map((name, index) => ({
      secret: name,
      endsAt: index === 0 ? null : endsAt(100),
    }));
    given(creation, webhookChanged(subject, 2, { secrets }))
      .when({ ...rotate, overlapSeconds: 200 })
      .then(
        changedTo(
          {
            secrets: [
              next,
              { secret: 'a', endsAt: endsAt(210) },
              ...['b', 'c', 'd'].map((name) => ({ secret: name, endsAt: endsAt(100) })),
            ],
          },
          3,
        ),
      );
  });

  it('are rotated while the webhook is disabled, which stays disabled', () => {
    const data = { ...current, status: 'disabled' as const, secrets: [next] };
    given(creation, disabled)
      .when(rotate)
      .then(newEvent('WebhookChanged', data, metadata(3)));
  });

  it('of other commands stay', () => {
    const secrets = [next, { secret, endsAt: endsAt(5) }];
    given(creation, webhookChanged(subject, 2, { secrets }))
      .when({ ...change, changes: { status: 'paused' } })
      .then(changedTo({ status: 'paused', secrets }, 3));
  });
});

describe('command API: any commands on a webhook', () => {
  const someText = fc.string({ maxLength: 5 });
  const nullable = <Value>(values: fc.Arbitrary<Value>) => fc.option(values, { nil: null });
  const someTerms = {
    url: fc.constantFrom('https://a.example/', 'https://b.example/'),
    types: nullable(fc.subarray(['LinkCreated', 'LinkVisited'])),
    domain: nullable(fc.constantFrom('go.example')),
    description: nullable(someText),
  };
  const someAccount = fc.constantFrom('acme', 'acme', 'acme', 'other');
  const data = fc.oneof(
    fc.record({
      type: fc.constant('ChangeWebhook' as const),
      account: someAccount,
      changes: fc.record(
        { ...someTerms, status: fc.constantFrom('enabled' as const, 'paused' as const) },
        { requiredKeys: [] },
      ),
    }),
    fc.record({
      type: fc.constant('RotateWebhookSecret' as const),
      account: someAccount,
      secret: fc.uuid(),
      overlapSeconds: fc.integer({ min: 0, max: 604_800 }),
    }),
    { weight: 1, arbitrary: fc.constant('disable' as const) },
    {
      weight: 1,
      arbitrary: fc.record({ type: fc.constant('DeleteWebhook' as const), account: someAccount }),
    },
  );
  /** Commands after pauses (s), which may be negative: clocks differ. */
  const someSteps = fc.array(fc.tuple(data, fc.integer({ min: -10, max: 400_000 })), {
    maxLength: 20,
  });

  /** Applies the steps; calls `check` with the state before and after each accepted event. */
  const run = (
    steps: typeof someSteps extends fc.Arbitrary<infer Steps> ? Steps : never,
    check: (before: WebhookState, after: WebhookState, event: WebhookEvent) => void,
  ): void => {
    let state = webhookDecider.evolve(noWebhook, creation);
    let now = at(1);
    for (const [index, [step, seconds]] of steps.entries()) {
      now = new Date(now.getTime() + seconds * 1_000);
      const before = state;
      if (step === 'disable') {
        if (!exists(state)) continue;
        state = webhookDecider.evolve(
          state,
          webhookDisabled(subject, state.sequence + 1, 'gone', { time: state.lastEventAt }),
        );
        continue;
      }
      const { type, ...values } = step;
      const command = {
        ...{ type, subject, data: values },
        metadata: { ...commandMetadata, now, id: eventId(commandMetadata.id, index) },
      } as WebhookCommand;
      const decision = webhookDecider.decide(command, state);
      if (decision.type === 'refused') {
        expect(exists(state) && step.account === 'acme').to.equal(false);
      }
      if (decision.type !== 'accepted') continue;
      expect(decision.events).to.have.length(1);
      for (const event of decision.events) {
        state = webhookDecider.evolve(state, event);
        check(before, state, event);
        // The same command again changes nothing, except a rotation.
        if (type !== 'ChangeWebhook') continue;
        expect(webhookDecider.decide(command, state)).to.deep.equal({ type: 'unchanged' });
      }
    }
  };

  it('leave valid events with consecutive sequences and ascending times', () => {
    fc.assert(
      fc.property(someSteps, (steps) => {
        run(steps, (before, after, event) => {
          expect(event.sequence).to.equal(before.sequence + 1);
          expect(after.sequence).to.equal(event.sequence);
          expect(new Date(event.time)).to.be.at.least(before.lastEventAt);
          expect(event).to.include({ subject, account: 'acme' });
          const name = event.type.split('.')[1] as 'WebhookChanged';
          expect(catalogue[name].data.safeParse(event.data).success, event.type).to.equal(true);
        });
      }),
    );
  });

  it('leave 1 to 5 secrets, the newest of them without an end, and never prolong one', () => {
    fc.assert(
      fc.property(someSteps, (steps) => {
        run(steps, (before, after, event) => {
          if (!exists(before) || !exists(after)) return;
          const [newest, ...earlier] = after.secrets;
          expect(newest?.endsAt).to.equal(null);
          expect(earlier.length).to.be.below(5);
          const isRotated = newest?.secret !== before.secrets[0]?.secret;
          for (const { secret: name, endsAt: end } of earlier) {
            const known = before.secrets.find((candidate) => candidate.secret === name);
            expect(known, name).not.to.equal(undefined);
            expect((end ?? '') <= (known?.endsAt ?? '9999'), `${name} ends later`).to.equal(true);
            if (isRotated) expect((end ?? '') > event.time, `${name} has ended`).to.equal(true);
          }
        });
      }),
    );
  });

  it('change only the values of the command', () => {
    fc.assert(
      fc.property(someSteps, (steps) => {
        run(steps, (before, after, event) => {
          if (!exists(before) || !exists(after)) return;
          expect(after.createdAt).to.equal(before.createdAt);
          if (after.secrets[0]?.secret === before.secrets[0]?.secret) {
            expect(after.secrets).to.deep.equal(before.secrets);
          } else {
            const { secrets, lastEventAt, sequence } = after;
            expect(after).to.deep.equal({ ...before, secrets, lastEventAt, sequence });
          }
          expect(event.data).not.to.have.property('disabledReason');
        });
      }),
    );
  });
});
