import { expect } from 'chai';
import fc from 'fast-check';
import type { LinkEvent } from '../../schemas/events/catalogue.js';
import { readEvent, writeEvent } from '../../schemas/events/codec.js';
import type { LinkState } from '../../schemas/folds/link.js';
import {
  commandMetadata,
  commandOf,
  commandSpecification,
  metadataOfEvent,
} from '../../schemas/testing/decider-specification.js';
import { at, created, idOfEvent, imported } from '../../schemas/testing/events.js';
import {
  importLinkDecider,
  type CodeTaken,
  type ImportedLink,
  type ImportLink,
} from './command.js';

const now = commandMetadata.now.toISOString();

const link: ImportedLink = {
  ...{ url: 'https://example.com/sale', custom: true, title: null, note: null, tags: [] },
  ...{ createdAt: null, startsAt: null, expiresAt: null, maxClicks: null, clicks: 0, visits: 0 },
  ...{ disabled: false, rules: [], forwardQuery: false },
  ...{ keyId: 'key-1', account: 'acme', importId: 'import-1', source: 'csv' },
};

/** The event of `link`. */
const importedEvent = (data: Parameters<typeof imported>[1] = {}): LinkEvent =>
  imported(
    'sale',
    { url: link.url, createdAt: now, ...data },
    { account: 'acme', ...metadataOfEvent() },
  );

const following = (number: number) => ({
  ...{ id: idOfEvent(number), time: now, sequence: number, account: 'acme', actor: 'maria' },
  ...{ correlationid: 'request-1', causationid: idOfEvent(1) },
});

describe('command API: importing a link', () => {
  const given = commandSpecification<ImportLink, LinkEvent, LinkState, CodeTaken>(
    'sale',
    importLinkDecider,
  );
  const importLink = (changes: Partial<ImportedLink> = {}) => ({
    type: 'ImportLink' as const,
    ...{ ...link, ...changes },
  });

  it('creates a link with a free code', () => {
    given().when(importLink()).then(importedEvent());
  });

  it('has every value of the source', () => {
    const values = {
      ...{ title: 'Sale', note: 'printed', createdAt: at(-60).toISOString(), maxClicks: 100 },
      ...{ startsAt: at(60).toISOString(), expiresAt: at(120).toISOString() },
    };
    const rules = [{ name: 'ios', when: { os: ['iOS' as const] }, url: 'https://example.com/i' }];
    given()
      .when(importLink({ ...values, tags: ['a'], rules, forwardQuery: true, clicks: 7, visits: 2 }))
      .then(
        importedEvent({
          ...{ ...values, tags: ['a'], rules, forwardQuery: true, clicks: 5, visits: 2 },
        }),
      );
  });

  it('has the time of the import if that of the source is unknown or in the future', () => {
    for (const createdAt of [null, at(11).toISOString()]) {
      given()
        .when(importLink({ createdAt }))
        .then(importedEvent({ createdAt: now }));
    }
    const createdAt = at(-1).toISOString();
    given().when(importLink({ createdAt })).then(importedEvent({ createdAt }));
  });

  it('has no negative opening balance if the source has more visits than clicks', () => {
    given()
      .when(importLink({ clicks: 1, visits: 3 }))
      .then(importedEvent({ clicks: 0, visits: 3 }));
  });

  const { decision } = given().when(importLink({ disabled: true, maxClicks: 2, clicks: 2 }));

  it('is disabled and expired as at its source', () => {
    if (decision.type !== 'accepted') throw new Error(`the decision is ${decision.type}`);
    const [first, second, third, ...more] = decision.events;
    expect(first).to.deep.equal(importedEvent({ maxClicks: 2, clicks: 2 }));
    expect(second).to.deep.include({ type: 'linklog.LinkDisabled.v1', ...following(2) });
    expect(third).to.deep.include({
      ...{ type: 'linklog.LinkExpired.v1', data: { reason: 'clicks' }, ...following(3) },
    });
    expect(more).to.deep.equal([]);
  });

  const expiredBy = (changes: Partial<ImportedLink>): string | null => {
    const result = given().when(importLink(changes)).decision;
    if (result.type !== 'accepted') throw new Error(`the decision is ${result.type}`);
    const expired = result.events.find(({ type }) => type === 'linklog.LinkExpired.v1');
    return expired ? (expired.data as { readonly reason: string }).reason : null;
  };

  it('is expired from its end on, and when clicks and visits reach the limit', () => {
    expect(expiredBy({ expiresAt: now })).to.equal('time');
    expect(expiredBy({ expiresAt: at(11).toISOString() })).to.equal(null);
    expect(expiredBy({ expiresAt: now, maxClicks: 1, clicks: 1 })).to.equal('time');
    expect(expiredBy({ maxClicks: 3, clicks: 3, visits: 2 })).to.equal('clicks');
    expect(expiredBy({ maxClicks: 3, clicks: 0, visits: 3 })).to.equal('clicks');
    expect(expiredBy({ maxClicks: 3, clicks: 2, visits: 2 })).to.equal(null);
  });

  it('is unchanged if the account has the link with this destination', () => {
    const own = { account: 'acme' };
    given(created('sale', { url: link.url }, own))
      .when(importLink())
      .thenNothing();
    given(imported('sale', { url: link.url }, own))
      .when(importLink({ title: 'other', clicks: 9 }))
      .thenNothing();
  });

  it('refuses the code of another link', () => {
    const refused = { isDeleted: false };
    given(created('sale', { url: `${link.url}/2` }, { account: 'acme' }))
      .when(importLink())
      .thenRefused('codeTaken', refused);
    given(created('sale', { url: link.url }, { account: 'other' }))
      .when(importLink())
      .thenRefused('codeTaken', refused);
  });

  it('creates events that readers accept, and nothing when it is repeated', () => {
    const time = fc
      .date({ min: new Date('2001-01-01'), max: new Date('2099-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString());
    const clicks = fc.nat(2_000_000_000);
    const links = fc.record({
      ...{ createdAt: fc.option(time), startsAt: fc.option(time), expiresAt: fc.option(time) },
      ...{ maxClicks: fc.option(fc.integer({ min: 1, max: 1_000_000_000 })) },
      ...{ clicks, visits: clicks, disabled: fc.boolean(), forwardQuery: fc.boolean() },
      ...{ title: fc.option(fc.string({ minLength: 1 })), tags: fc.array(fc.string()) },
    });
    fc.assert(
      fc.property(links, (changes) => {
        const { decision: first } = given().when(importLink(changes));
        if (first.type !== 'accepted') throw new Error(`the decision is ${first.type}`);
        for (const [index, event] of first.events.entries()) {
          expect(readEvent(writeEvent(event))).to.deep.equal(event);
          expect(event.sequence).to.equal(index + 1);
        }
        const state = first.events.reduce(importLinkDecider.evolve, importLinkDecider.initialState);
        const command = commandOf<ImportLink>('sale', commandMetadata)(importLink(changes));
        expect(importLinkDecider.decide(command, state)).to.deep.equal({ type: 'unchanged' });
      }),
    );
  });
});
