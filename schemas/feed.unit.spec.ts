import { expect } from 'chai';
import fc from 'fast-check';
import { catalogue, type EventName } from './events/catalogue.js';
import { defaultFeedNames, feedEventNames, isFeedEventName, typesOfNames } from './feed.js';

const names = Object.keys(catalogue) as EventName[];

describe('schemas: events of the feed', () => {
  it('are those of links, visits, keys, domains and webhooks', () => {
    expect(feedEventNames).to.have.members([
      'LinkCreated',
      'LinkImported',
      'LinkEdited',
      'LinkDescribed',
      'LinkDisabled',
      'LinkEnabled',
      'LinkDeleted',
      'LinkExpired',
      'LinkBlocked',
      'LinkUnblocked',
      'LinkVisited',
      'ApiKeyCreated',
      'ApiKeyChanged',
      'ApiKeyRotated',
      'ApiKeyRevoked',
      'DomainClaimed',
      'DomainVerified',
      'DomainChanged',
      'DomainReleased',
      'WebhookCreated',
      'WebhookChanged',
      'WebhookDisabled',
      'WebhookDeleted',
    ]);
  });

  it('are no decisions of operators about reserved aliases, no usage and no switches', () => {
    const hidden = names.filter((name) => !isFeedEventName(name));
    expect(hidden).to.have.members([
      'AliasOverrideGranted',
      'AliasOverrideRevoked',
      'CallsMetered',
      'QrRendered',
      'MaintenanceSwitched',
      'FeatureSwitched',
      'ProjectionWorkRequested',
    ]);
  });

  it('exclude visits by default', () => {
    expect([...defaultFeedNames, 'LinkVisited']).to.have.members([...feedEventNames]);
    expect(defaultFeedNames).not.to.include('LinkVisited');
  });

  it('have names without versions', () => {
    for (const name of [
      'LinkCreated.v4',
      'linklog.LinkCreated.v4',
      'linkcreated',
      ' LinkCreated',
    ]) {
      expect(isFeedEventName(name), name).to.equal(false);
    }
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.constantFrom('constructor', '__proto__')), (name) => {
        expect(isFeedEventName(name)).to.equal(feedEventNames.includes(name as EventName));
      }),
    );
  });

  it('have the current version in their type', () => {
    expect([...typesOfNames(['LinkCreated', 'LinkVisited'])]).to.deep.equal([
      'linklog.LinkCreated.v4',
      'linklog.LinkVisited.v3',
    ]);
  });

  it('of unknown or hidden names have no type', () => {
    const unknown = ['LinkFrozen', 'AliasOverrideGranted', 'QrRendered', 'toString', ''];
    expect(typesOfNames(unknown)).to.deep.equal(new Set());
    fc.assert(
      fc.property(fc.subarray(names), fc.array(fc.constantFrom(...unknown)), (known, others) => {
        const expected = known.filter(isFeedEventName).map((name) => catalogue[name].type);
        expect(typesOfNames([...others, ...known, ...known])).to.deep.equal(new Set(expected));
      }),
    );
  });
});
