import { optionsIn } from '../link-options.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { isLinkEvent, type LinkEvent } from '../events/catalogue.js';
import { at, someEvent, someEventNamed } from '../testing/events.js';
import { evolveLedgerLink, initialState, reuseKeyOf, type LedgerLinkState } from './ledger-link.js';
import { evolveLink, type LinkState } from './link.js';

/** Histories of one subject in any order. LinkCreated is often the first event. */
const histories = fc
  .tuple(
    fc.array(someEventNamed('LinkCreated'), { maxLength: 1 }),
    fc.array(someEvent.filter(isLinkEvent), { maxLength: 12 }),
  )
  .map(([first, others]) =>
    [...first.filter(isLinkEvent), ...others].map((event, index): LinkEvent => {
      const time = at(index).toISOString();
      return { ...event, subject: 'spring', sequence: index + 1, time };
    }),
  );

/** The values that both folds have. */
const common = (link: LinkState, ledger: LedgerLinkState) => {
  const fromLink =
    link.status === 'none'
      ? null
      : {
          subject: link.link.subject,
          account: link.link.account,
          createdAt: new Date(link.link.createdAt),
          startsAt: link.link.startsAt === null ? null : new Date(link.link.startsAt),
          expiresAt: link.link.expiresAt === null ? null : new Date(link.link.expiresAt),
          reuseKey: link.link.custom ? null : reuseKeyOf(link.link.account, link.link.url),
          maxClicks: link.link.maxClicks,
          restraints: link.restraints,
          lastEventAt: new Date(link.link.updatedAt),
          edited: Object.keys(link.link.original ?? {}).sort(),
        };
  const fromLedger =
    ledger.status === 'none'
      ? null
      : {
          subject: ledger.subject,
          account: ledger.account,
          createdAt: ledger.createdAt,
          startsAt: ledger.startsAt,
          expiresAt: ledger.expiresAt,
          reuseKey: ledger.reuseKey,
          maxClicks: ledger.maxClicks,
          restraints: {
            deleted: ledger.deleted,
            blocked: ledger.blocked,
            disabled: ledger.disabled,
            expired: ledger.expired,
          },
          lastEventAt: ledger.lastEventAt,
          edited: Object.keys(ledger.edited ?? {}).sort(),
        };
  return { fromLink, fromLedger };
};

describe('schemas: the two folds of a link', () => {
  it('agree after every event of every history', () => {
    fc.assert(
      fc.property(histories, (events) => {
        let link: LinkState = { status: 'none' };
        let ledger: LedgerLinkState = initialState;
        for (const event of events) {
          link = evolveLink(link, event);
          ledger = evolveLedgerLink(ledger, event);
          const { fromLink, fromLedger } = common(link, ledger);
          expect(fromLedger).to.deep.equal(fromLink);
          if (link.status === 'none' || ledger.status === 'none') continue;
          const { url, passwordHash, options } = link.link;
          const after = { url, passwordHash, ...ledger.edited };
          expect([after.url, after.passwordHash]).to.deep.equal([url, passwordHash]);
          expect(optionsIn({ ...options, ...ledger.edited })).to.deep.equal(options);
        }
      }),
      { numRuns: 90 },
    );
  });
});
