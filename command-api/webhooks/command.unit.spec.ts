import { expect } from 'chai';
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';

import {
  at,
  someWebhook,
  webhookChanged,
  webhookCreated,
  webhookDeleted,
  webhookDisabled,
} from '../../schemas/testing/events.js';
import { metadataOfEvent, specify } from '../testing/decisions.js';
import { webhookDecider } from './command.js';
import { noSubject } from '../../schemas/folds/subject-state.js';

const subject = 'hook-1';
const { accepts, ignores, refuses } = specify(subject, webhookDecider);

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
    const values = { ...terms, status: 'enabled' };
    for (const same of [{}, values, { url: terms.url }, { types: null }, { status: 'enabled' }]) {
      ignores(created, change(same));
    }
    const paused: Changes = { types: ['LinkVisited'], status: 'paused' };
    ignores(after(paused), change(paused));
    ignores(disabled, change());
  });

  it('are enabled after they were disabled, without the reason', () => {
    accepts(disabled, change({ status: 'enabled' }), changedTo({}, 3));
    const state = [...disabled, changedTo({}, 3)].reduce(webhookDecider.evolve, noSubject);
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
});
