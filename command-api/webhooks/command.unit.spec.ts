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
import { decisionsOf } from '../testing/decisions.js';
import { webhookDecider, type WebhookCommand } from './command.js';

const subject = 'hook-1';
const { accepts, ignores, refuses } = decisionsOf(commandSpecification(subject, webhookDecider));

const metadata = (sequence: number) => ({
  ...{ ...metadataOfEvent(), sequence, subject, account: 'acme' },
});

const { secret, ...terms } = someWebhook;
const created = [webhookCreated(subject, {}, { time: at(1) })];
const reason = 'the receiver returned 410';
const disabled = [...created, webhookDisabled(subject, 2, reason, { time: at(2) })];
const deleted = [...created, webhookDeleted(subject, 2, { time: at(2) })];
const current: EventNamed<'WebhookChanged'>['data'] = {
  ...{ ...terms, status: 'enabled', secrets: [{ secret, endsAt: null }] },
};

type Changes = Parameters<typeof webhookChanged>[2];
const create = (count: number) =>
  ({ type: 'CreateWebhook', account: 'acme', terms, secret, count }) as const;
const change = (changes: object = {}) =>
  ({ type: 'ChangeWebhook', account: 'acme', changes }) as const;
const rotate = (overlapSeconds = 0) => ({
  ...{ type: 'RotateWebhookSecret' as const, account: 'acme', secret: 'whsec_next' },
  overlapSeconds,
});
const remove = { type: 'DeleteWebhook', account: 'acme' } as const;

/** The event of a change from the state after `created`. */
const changedTo = (values: Changes, sequence = 2) =>
  newEvent('WebhookChanged', { ...current, ...values }, metadata(sequence));
const after = (changes: Changes) => [...created, webhookChanged(subject, 2, changes)];

describe('command API: webhooks', () => {
  it('are created with their terms and a secret, at most 10 for each account', () => {
    const event = newEvent('WebhookCreated', { ...terms, secret }, metadata(1));
    for (const count of [0, 9]) accepts([], create(count), event);
    for (const count of [10, 11]) refuses([], create(count), 'webhooksExhausted');
  });

  it('are changed with an event that has all values', () => {
    const changes: Changes = {
      ...{ url: 'https://other.example/', types: ['LinkVisited'], domain: 'go.example' },
      ...{ description: 'Orders', status: 'paused' },
    };
    accepts(created, change(changes), changedTo(changes));
    accepts(created, change({ description: 'Orders' }), changedTo({ description: 'Orders' }));
    accepts(after({ description: 'Orders' }), change({ description: null }), changedTo({}, 3));
  });

  it('are unchanged by the values that they have', () => {
    const all = { ...terms, status: 'enabled' };
    for (const same of [{}, all, { url: terms.url }, { types: null }, { status: 'enabled' }]) {
      ignores(created, change(same));
    }
    const paused: Changes = { types: ['LinkVisited'], status: 'paused' };
    ignores(after(paused), change(paused));
    ignores(disabled, change());
  });

  it('are enabled after they were disabled, without the reason', () => {
    accepts(disabled, change({ status: 'enabled' }), changedTo({}, 3));
    const state = [...disabled, changedTo({}, 3)].reduce(webhookDecider.evolve, noWebhook);
    expect(state).to.include({ status: 'enabled', disabledReason: null });
  });

  it('stay disabled if other values are changed or the secret is rotated', () => {
    const url = 'https://other.example/';
    accepts(disabled, change({ url }), changedTo({ url, status: 'disabled' }, 3));
    const secrets = [{ secret: 'whsec_next', endsAt: null }];
    accepts(disabled, rotate(), changedTo({ secrets, status: 'disabled' }, 3));
  });

  it('are deleted permanently', () => {
    accepts(created, remove, newEvent('WebhookDeleted', {}, metadata(2)));
    for (const command of [remove, rotate(), change({ status: 'enabled' })]) {
      refuses(deleted, command, 'notFound');
    }
  });

  it('of other accounts, and unknown ones, are not found', () => {
    for (const command of [remove, rotate(), change({ status: 'paused' })]) {
      refuses([], command, 'notFound');
      refuses(created, { ...command, account: 'other' }, 'notFound');
      refuses(disabled, { ...command, account: '' }, 'notFound');
    }
  });
});

describe('command API: secrets of webhooks', () => {
  const next = { secret: 'whsec_next', endsAt: null };
  const ending = (name: string, second: number) => ({
    ...{ secret: name, endsAt: at(second).toISOString() },
  });

  it('are replaced immediately without an overlap, and sign until it ends otherwise', () => {
    accepts(created, rotate(), changedTo({ secrets: [next] }));
    // The command is decided at second 10.
    accepts(created, rotate(60), changedTo({ secrets: [next, ending(secret, 70)] }));
  });

  it('that end earlier keep their end, and those that ended vanish', () => {
    const earlier = [ending('b', 100), ending('c', 30), ending('d', 10), ending('e', 5)];
    const rotated = after({ secrets: [{ secret: 'a', endsAt: null }, ...earlier] });
    const secrets = [next, ending('a', 70), ending('b', 70), ending('c', 30)];
    accepts(rotated, rotate(60), changedTo({ secrets }, 3));
    accepts(rotated, rotate(), changedTo({ secrets: [next] }, 3));
  });

  it('are at most 5: the oldest ones vanish', () => {
    const [b, c, d, e] = ['b', 'c', 'd', 'e'].map((name) => ending(name, 100));
    if (!b || !c || !d || !e) throw new Error('too few secrets');
    const full = after({ secrets: [{ secret: 'a', endsAt: null }, b, c, d, e] });
    accepts(full, rotate(200), changedTo({ secrets: [next, ending('a', 210), b, c, d] }, 3));
  });

  it('are not changed by other commands', () => {
    const secrets = [next, ending(secret, 5)];
    accepts(
      after({ secrets }),
      change({ status: 'paused' }),
      changedTo({ status: 'paused', secrets }, 3),
    );
  });
});

describe('command API: any commands on a webhook', () => {
  const nullable = <Value>(values: fc.Arbitrary<Value>) => fc.option(values, { nil: null });
  const account = fc.constantFrom('acme', 'acme', 'acme', 'other');
  const someChanges = fc.record(
    {
      url: fc.constantFrom('https://a.example/', 'https://b.example/'),
      types: nullable(fc.subarray(['LinkCreated', 'LinkVisited'])),
      domain: nullable(fc.constantFrom('go.example')),
      description: nullable(fc.string({ maxLength: 5 })),
      status: fc.constantFrom('enabled' as const, 'paused' as const),
    },
    { requiredKeys: [] },
  );
  const typed = <Type extends string>(type: Type) => fc.constant(type);
  const someCommand = fc.oneof(
    fc.record({ type: typed('ChangeWebhook'), account, changes: someChanges }),
    fc.record({
      ...{ type: typed('RotateWebhookSecret'), account, secret: fc.uuid() },
      overlapSeconds: fc.integer({ min: 0, max: 604_800 }),
    }),
    fc.constant('disable' as const),
    fc.record({ type: typed('DeleteWebhook'), account }),
  );
  /** Commands after pauses (s), which may be negative: clocks differ. */
  const pause = fc.integer({ min: -10, max: 400_000 });
  const someSteps = fc.array(fc.tuple(someCommand, pause), { maxLength: 20 });

  const checkEvent = (before: WebhookState, after: WebhookState, event: WebhookEvent): void => {
    expect(event).to.include({ subject, account: 'acme', sequence: before.sequence + 1 });
    expect(after.sequence).to.equal(event.sequence);
    expect(new Date(event.time)).to.be.at.least(before.lastEventAt);
    expect(event.data).not.to.have.property('disabledReason');
    const name = event.type.split('.')[1] as 'WebhookChanged';
    expect(catalogue[name].data.safeParse(event.data).success, event.type).to.equal(true);
  };

  /** 1 to 5 secrets, the newest of them without an end; no secret is prolonged. */
  const checkSecrets = (before: WebhookState, after: WebhookState, event: WebhookEvent): void => {
    if (!exists(before) || !exists(after)) return;
    const [newest, ...earlier] = after.secrets;
    expect(newest?.endsAt).to.equal(null);
    expect(earlier.length).to.be.below(5);
    expect(after.createdAt).to.equal(before.createdAt);
    if (newest?.secret === before.secrets[0]?.secret) {
      expect(after.secrets).to.deep.equal(before.secrets);
      return;
    }
    const { secrets, lastEventAt, sequence } = after;
    expect(after).to.deep.equal({ ...before, secrets, lastEventAt, sequence });
    for (const { secret: name, endsAt } of earlier) {
      const known = before.secrets.find((candidate) => candidate.secret === name);
      expect(known, name).not.to.equal(undefined);
      expect((endsAt ?? '') <= (known?.endsAt ?? '9999'), `${name} ends later`).to.equal(true);
      expect((endsAt ?? '') > event.time, `${name} has ended`).to.equal(true);
    }
  };

  it('leave valid events in sequence that change only the values of the command', () => {
    fc.assert(
      fc.property(someSteps, (steps) => {
        let state = created.reduce(webhookDecider.evolve, noWebhook);
        let now = at(1);
        for (const [index, [step, seconds]] of steps.entries()) {
          now = new Date(now.getTime() + seconds * 1_000);
          const before = state;
          if (step === 'disable') {
            const time = state.lastEventAt;
            const event = webhookDisabled(subject, state.sequence + 1, 'gone', { time });
            if (exists(state)) state = webhookDecider.evolve(state, event);
            continue;
          }
          const { type, ...data } = step;
          const id = eventId(commandMetadata.id, index);
          const command = { type, subject, data, metadata: { ...commandMetadata, now, id } };
          const decision = webhookDecider.decide(command as WebhookCommand, state);
          if (decision.type === 'refused') {
            expect(exists(state) && step.account === 'acme').to.equal(false);
          }
          if (decision.type !== 'accepted') continue;
          expect(decision.events).to.have.length(1);
          state = decision.events.reduce(webhookDecider.evolve, state);
          for (const event of decision.events) {
            checkEvent(before, state, event);
            checkSecrets(before, state, event);
          }
          // The same command again changes nothing, except a rotation.
          if (type !== 'ChangeWebhook') continue;
          const again = webhookDecider.decide(command as WebhookCommand, state);
          expect(again).to.deep.equal({ type: 'unchanged' });
        }
      }),
    );
  });
});
