import { expect } from 'chai';
import type { LinklogEvent } from '../events/catalogue.js';
import { foldSpecification } from '../testing/decider-specification.js';
import {
  at,
  created,
  noon,
  someWebhook,
  webhookChanged,
  webhookCreated,
  webhookDeleted,
  webhookDisabled,
} from '../testing/events.js';
import { evolveWebhook, exists, type Webhook } from './webhook.js';
import { noSubject } from './subject-state.js';

const given = foldSpecification({ initialState: noSubject, evolve: evolveWebhook });

const { secret, ...terms } = someWebhook;

const webhook: Webhook = {
  ...terms,
  status: 'enabled',
  disabledReason: null,
  secrets: [{ secret, endsAt: null }],
  account: 'acme',
  createdAt: noon.toISOString(),
  sequence: 1,
  lastEventAt: noon,
};

const creation = webhookCreated('hook-1');
const disabled = webhookDisabled('hook-1', 2, 'the receiver returned 410', { time: at(1) });

describe('schemas: state of a webhook', () => {
  it('does not exist at first', () => {
    given().then({ status: 'none', sequence: 0, lastEventAt: new Date(0) });
    expect(exists(noSubject)).to.equal(false);
  });

  it('is enabled with one secret after its creation', () => {
    given(creation).then(webhook);
    const others = { url: 'https://other.example/', types: ['LinkCreated'], domain: 'go.example' };
    given()
      .when(webhookCreated('hook-1', { ...others, secret: 'whsec_b' }, { account: 'other' }))
      .thenChanges({
        ...{ ...webhook, ...others, account: 'other' },
        secrets: [{ secret: 'whsec_b', endsAt: null }],
      });
  });

  it('has the values of its last change', () => {
    const change = {
      ...{ url: 'https://other.example/', types: ['LinkVisited'], domain: 'go.example' },
      ...{ description: 'Orders', status: 'paused' as const },
      secrets: [
        { secret: 'whsec_b', endsAt: null },
        { secret, endsAt: at(60).toISOString() },
      ],
    };
    const changed = webhookChanged('hook-1', 2, change, { time: at(1) });
    given(creation).when(changed).thenChanges(change);
    const { url, types, domain, description, status, secrets } = webhook;
    given(creation, changed)
      .when(webhookChanged('hook-1', 3, {}, { time: at(2) }))
      .thenChanges({ url, types, domain, description, status, secrets });
  });

  it('has a reason while it is disabled', () => {
    const status = 'disabled' as const;
    given(creation)
      .when(disabled)
      .thenChanges({ status, disabledReason: 'the receiver returned 410' });
    const change = { url: 'https://other.example/', status };
    given(creation, disabled)
      .when(webhookChanged('hook-1', 3, change))
      .thenChanges(change);
    given(creation, disabled)
      .when(webhookDisabled('hook-1', 3, 'no delivery for 5 days'))
      .thenChanges({ disabledReason: 'no delivery for 5 days' });
    for (const later of ['enabled', 'paused'] as const) {
      given(creation, disabled)
        .when(webhookChanged('hook-1', 3, { status: later }))
        .thenChanges({ status: later, disabledReason: null });
    }
  });

  it('keeps only its account and sequence after its deletion, and stays deleted', () => {
    const deletion = webhookDeleted('hook-1', 3, { time: at(2) });
    const rest = { status: 'deleted', account: 'acme', sequence: 3, lastEventAt: at(2) } as const;
    given(creation, disabled).when(deletion).then(rest);
    expect(exists(rest)).to.equal(false);
    for (const repeat of [webhookChanged('hook-1', 2, {}), disabled, deletion]) {
      given(creation, disabled, deletion).when(repeat).thenNothingChanges();
    }
  });

  it('does not exist without its creation', () => {
    for (const event of [webhookChanged('hook-1', 1, {}), webhookDeleted('hook-1', 1), disabled]) {
      given().when(event).thenNothingChanges();
    }
  });

  it('rejects events of other subjects', () => {
    const event = created('abc') as LinklogEvent;
    given(creation)
      .when(event as typeof creation)
      .thenThrows(/LinkCreated/);
  });
});
