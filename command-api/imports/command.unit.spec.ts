import { noOptions } from '../../schemas/link-options.js';
import { expect } from 'chai';
import type { LinkEvent } from '../../schemas/events/catalogue.js';
import type { LinkState } from '../../schemas/folds/link.js';
import { at, created, idOfEvent, imported } from '../../schemas/testing/events.js';
import { commandMetadata, metadataOfEvent, specify } from '../testing/decisions.js';
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
  ...{ disabled: false, options: noOptions },
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
  const { given, accepts, ignores, refuses } = specify<ImportLink, LinkEvent, LinkState, CodeTaken>(
    'sale',
    importLinkDecider,
  );
  const importLink = (changes: Partial<ImportedLink> = {}) => ({
    ...{ type: 'ImportLink' as const, ...link, ...changes },
  });
  const eventsOf = (changes: Partial<ImportedLink>) => {
    const { decision } = given().when(importLink(changes));
    if (decision.type !== 'accepted') throw new Error(`the decision is ${decision.type}`);
    return decision.events;
  };

  it('creates a link with a free code', () => {
    accepts([], importLink(), importedEvent());
  });

  it('has every value of the source', () => {
    const rules = [{ name: 'ios', when: { os: ['iOS' as const] }, url: 'https://example.com/i' }];
    const values: Parameters<typeof imported>[1] & Partial<ImportedLink> = {
      ...{ title: 'Sale', note: 'printed', createdAt: at(-60).toISOString(), maxClicks: 100 },
      ...{ startsAt: at(60).toISOString(), expiresAt: at(120).toISOString(), tags: ['a'] },
      visits: 2,
    };
    const options = { rules, forwardQuery: true as const };
    accepts(
      [],
      importLink({ ...values, options, clicks: 7 }),
      importedEvent({ ...values, ...options, clicks: 5 }),
    );
  });

  it('has the time of the import if that of the source is unknown or in the future', () => {
    for (const createdAt of [null, at(11).toISOString()]) {
      accepts([], importLink({ createdAt }), importedEvent({ createdAt: now }));
    }
    const createdAt = at(-1).toISOString();
    accepts([], importLink({ createdAt }), importedEvent({ createdAt }));
  });

  it('has no negative opening balance if the source has more visits than clicks', () => {
    accepts([], importLink({ clicks: 1, visits: 3 }), importedEvent({ clicks: 0, visits: 3 }));
  });

  it('is disabled and expired as at its source', () => {
    const events = eventsOf({ disabled: true, maxClicks: 2, clicks: 2 });
    expect(events).to.have.length(3);
    expect(events[0]).to.deep.equal(importedEvent({ maxClicks: 2, clicks: 2 }));
    expect(events[1]).to.deep.include({ type: 'linklog.LinkDisabled.v1', ...following(2) });
    const data = { reason: 'clicks' };
    expect(events[2]).to.deep.include({ type: 'linklog.LinkExpired.v1', data, ...following(3) });
  });

  it('is expired from its end on, and when clicks and visits reach the limit', () => {
    for (const [changes, reason] of [
      [{ expiresAt: now }, 'time'],
      [{ expiresAt: at(11).toISOString() }, undefined],
      [{ expiresAt: now, maxClicks: 1, clicks: 1 }, 'time'],
      [{ maxClicks: 3, clicks: 3, visits: 2 }, 'clicks'],
      [{ maxClicks: 3, clicks: 0, visits: 3 }, 'clicks'],
      [{ maxClicks: 3, clicks: 2, visits: 2 }, undefined],
    ] as const) {
      const event = eventsOf(changes).find(({ type }) => type === 'linklog.LinkExpired.v1');
      expect(event?.data).to.deep.equal(reason && { reason });
    }
  });

  it('is unchanged if the account has the link with this destination', () => {
    const own = { account: 'acme' };
    ignores([created('sale', { url: link.url }, own)], importLink());
    const again = importLink({ title: 'other', clicks: 9 });
    ignores([imported('sale', { url: link.url }, own)], again);
  });

  it('refuses the code of another link', () => {
    const other = created('sale', { url: `${link.url}/2` }, { account: 'acme' });
    const foreign = created('sale', { url: link.url }, { account: 'other' });
    for (const history of [[other], [foreign]]) {
      refuses(history, importLink(), 'codeTaken', { isDeleted: false });
    }
  });
});
