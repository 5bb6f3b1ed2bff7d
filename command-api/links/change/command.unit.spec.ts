import { largeRules } from '../../../schemas/testing/large-rules.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { statusOf } from '../../../schemas/folds/link-status.js';
import {
  commandOf,
  deciderSpecification,
  type FlatCommand,
} from '../../../schemas/testing/decider-specification.js';
import {
  at,
  blocked,
  created,
  deleted,
  described,
  disabled,
  edited,
  enabled,
  expired,
  idOf,
  idOfEvent,
  visited,
} from '../../../schemas/testing/events.js';
import { ruleUrls, type RedirectRule } from '../../../schemas/redirect-rules.js';
import { evolveLedgerLink, type LedgerLinkEvent } from '../../../schemas/folds/ledger-link.js';
import {
  evolveManagedLink,
  linkChangeDecider,
  type LinkChange,
  type LinkCommand,
  type LinkRefusal,
  type ManagedLink,
} from './command.js';

type Values = FlatCommand<LinkCommand>;

/** Only the fold of the ledger contains visits. */
const evolve = (state: ManagedLink, event: LedgerLinkEvent): ManagedLink =>
  event.type === 'linklog.LinkVisited.v3'
    ? { ...state, ledger: evolveLedgerLink(state.ledger, event) }
    : evolveManagedLink(state, event);

const command = commandOf<LinkCommand>('spring', {
  now: at(100),
  id: idOf(1),
  actor: 'key-1',
  requestId: 'request-1',
});
const decide = (values: Values, state: ManagedLink) =>
  linkChangeDecider.decide(command(values), state);

const given = deciderSpecification<Values, LedgerLinkEvent, ManagedLink, LinkRefusal>({
  initialState: linkChangeDecider.initialState,
  evolve,
  decide,
});

const url = 'https://example.net/';
const link = created('spring', {}, { account: 'acme' });
const limited = created('spring', { maxClicks: 3 }, { account: 'acme' });
const ending = created('spring', { expiresAt: at(60).toISOString() }, { account: 'acme' });
const clicks = [1, 2, 3].map((click) => visited('spring', click));
const usedUp = [limited, ...clicks, expired('spring', 2, 'clicks')];

const change = (
  requested: LinkChange,
  safeUrls: readonly string[] | string = [],
  countedClicks = 0,
): Values => ({
  ...{ type: 'ChangeLink', account: 'acme', versions: null },
  ...{ change: requested, safeUrls: [safeUrls].flat(), countedClicks },
});
const remove: Values = { type: 'DeleteLink', account: 'acme', versions: null };
/** @param number of the event in the decision */
const metadata = (number = 1) => ({
  ...{ id: idOfEvent(number), time: at(100), account: 'acme' },
  ...{ actor: 'key-1', correlationId: 'request-1' },
});

describe('command API: changing a link', () => {
  it('edits only what is different', () => {
    const wanted = { url, expiresIn: 60, password: { hash: 'hash' }, title: 'Spring' };
    given(link)
      .when(change(wanted, url))
      .then(
        edited(
          'spring',
          2,
          {
            ...{ url, expiresAt: at(160).toISOString() },
            ...{ password: 'set', passwordHash: 'hash' },
          } as const,
          metadata(1),
        ),
        described('spring', 3, { title: 'Spring' }, metadata(2)),
      );
    const same = { url: 'https://example.com/spring', expiresIn: null, password: null };
    given(link)
      .when(change({ ...same, title: null, note: null, tags: null, disabled: false }))
      .thenNothing();
  });

  it('removes the end and the password', () => {
    const secured = created(
      'spring',
      { passwordHash: 'hash', expiresAt: at(600).toISOString() },
      { account: 'acme' },
    );
    given(secured)
      .when(change({ expiresIn: null, password: null }))
      .then(edited('spring', 2, { expiresAt: null, password: 'removed' }, metadata()));
  });

  it('adds and removes tags, up to 20', () => {
    const tagged = described('spring', 2, { tags: ['a', 'b'] });
    given(link, tagged)
      .when(change({ addTags: ['b', 'c'], removeTags: ['a'] }))
      .then(described('spring', 3, { tags: ['b', 'c'] }, metadata()));
    given(link, tagged)
      .when(change({ addTags: ['a'], removeTags: ['x'] }))
      .thenNothing();
    const many = Array.from({ length: 19 }, (_, index) => `tag ${index}`);
    given(link, tagged)
      .when(change({ addTags: many }))
      .thenRefused('tooManyTags');
  });

  it('rejects a link of more than 64 KiB', () => {
    given(link)
      .when(change({ rules: largeRules }))
      .thenRefused('tooLarge');
  });

  it('matches old tags that are untrimmed and not in NFC', () => {
    const tagged = described('spring', 2, { tags: ['a\u0308', ' b', '\u00f6'] });
    given(link, tagged)
      .when(change({ removeTags: ['\u00e4', 'b'] }))
      .then(described('spring', 3, { tags: ['\u00f6'] }, metadata()));
    given(link, tagged)
      .when(change({ addTags: ['\u00e4', 'b', '\u00f6'] }))
      .thenNothing();
  });

  it('disables, enables and deletes; a second deletion changes nothing', () => {
    given(link)
      .when(change({ disabled: true }))
      .then(disabled('spring', 2, metadata()));
    given(link, disabled('spring', 2))
      .when(change({ disabled: false }, 'https://example.com/spring'))
      .then(enabled('spring', 3, metadata()));
    given(link)
      .when(remove)
      .then(deleted('spring', 2, metadata()));
    given(link, deleted('spring', 2)).when(remove).thenNothing();
    given(link, deleted('spring', 2))
      .when(change({ title: 'x' }))
      .thenRefused('deleted');
  });

  it('is refused for links of other accounts', () => {
    given()
      .when(change({ title: 'x' }))
      .thenRefused('notFound');
    given(created('spring', {}, { account: 'other' }))
      .when(remove)
      .thenRefused('notFound');
    given(created('spring', {}, { account: 'other' }))
      .when({ ...remove, account: null })
      .then(deleted('spring', 2, { ...metadata(), account: 'other' }));
  });

  it('is refused for another version', () => {
    const versions = [2];
    given(link)
      .when({ ...remove, versions })
      .thenRefused('changedMeanwhile');
    given(link, described('spring', 2, { title: 'x' }))
      .when({ ...remove, versions })
      .then(deleted('spring', 3, metadata()));
  });

  it('raises a limit, and lowers it down to the clicks taken, which expires the link', () => {
    given(limited, ...clicks.slice(0, 2))
      .when(change({ maxClicks: 9 }))
      .then(edited('spring', 2, { maxClicks: 9 }, metadata()));
    given(limited, ...clicks.slice(0, 2))
      .when(change({ maxClicks: 2 }))
      .then(
        edited('spring', 2, { maxClicks: 2 }, metadata(1)),
        expired('spring', 3, 'clicks', { ...metadata(2), causationId: idOf(1) }),
      );
    given(limited, ...clicks.slice(0, 2))
      .when(change({ maxClicks: 1 }))
      .thenRefused('clicksTaken', { taken: 2 });
  });

  it('sets the first limit with the counted clicks as opening balance', () => {
    given(link)
      .when(change({ maxClicks: 5 }, [], 3))
      .then(edited('spring', 2, { maxClicks: 5, clicks: 3 }, metadata()));
    given(link)
      .when(change({ maxClicks: 3 }, [], 3))
      .then(
        edited('spring', 2, { maxClicks: 3, clicks: 3 }, metadata(1)),
        expired('spring', 3, 'clicks', { ...metadata(2), causationId: idOf(1) }),
      );
    given(link)
      .when(change({ maxClicks: 2 }, [], 3))
      .thenRefused('clicksTaken', { taken: 3 });
  });

  it('removes a limit, and sets a new one without counting clicks twice', () => {
    const unlimited = [limited, ...clicks.slice(0, 2), edited('spring', 2, { maxClicks: null })];
    given(limited, ...clicks.slice(0, 2))
      .when(change({ maxClicks: null }))
      .then(edited('spring', 2, { maxClicks: null }, metadata()));
    given(...usedUp)
      .when(change({ maxClicks: null }, 'https://example.com/spring'))
      .then(edited('spring', 3, { maxClicks: null }, metadata()));
    given(...unlimited)
      .when(change({ maxClicks: 9 }, [], 7))
      .then(edited('spring', 3, { maxClicks: 9, clicks: 7 }, metadata()));
    // The statistics may lag behind the ledger.
    given(...unlimited)
      .when(change({ maxClicks: 9 }, [], 1))
      .then(edited('spring', 3, { maxClicks: 9, clicks: 2 }, metadata()));
  });

  it('sets and removes start and end; the start must be first', () => {
    const [start, end] = [at(200).toISOString(), at(300).toISOString()];
    given(link)
      .when(change({ startsAt: start, expiresAt: end }))
      .then(edited('spring', 2, { startsAt: start, expiresAt: end }, metadata()));
    const scheduled = created('spring', { startsAt: start }, { account: 'acme' });
    given(scheduled)
      .when(change({ startsAt: null }))
      .then(edited('spring', 2, { startsAt: null }, metadata()));
    given(scheduled)
      .when(change({ startsAt: start }))
      .thenNothing();
    given(scheduled)
      .when(change({ expiresAt: start }))
      .thenRefused('startsAfterEnd');
    given(scheduled)
      .when(change({ expiresIn: 60 }))
      .thenRefused('startsAfterEnd');
    given(created('spring', { expiresAt: end }, { account: 'acme' }))
      .when(change({ startsAt: end }))
      .thenRefused('startsAfterEnd');
  });

  it('requires a check of the destination before an expired link is scheduled', () => {
    const start = at(200).toISOString();
    given(ending, expired('spring', 2))
      .when(change({ startsAt: start, expiresAt: at(300).toISOString() }))
      .thenRefused('unchecked', { urls: [link.data.url] });
  });

  it('reactivates an expired link if neither the end nor the limit is reached', () => {
    const safe = 'https://example.com/spring';
    given(...usedUp)
      .when(change({ maxClicks: 4 }, safe))
      .then(edited('spring', 3, { maxClicks: 4 }, metadata()));
    given(ending, expired('spring', 2))
      .when(change({ expiresIn: null }, safe))
      .then(edited('spring', 3, { expiresAt: null }, metadata()));
    given(...usedUp)
      .when(change({ expiresIn: 60 }))
      .then(
        edited('spring', 3, { expiresAt: at(160).toISOString() }, metadata(1)),
        expired('spring', 4, 'clicks', { ...metadata(2), causationId: idOf(1) }),
      );
  });

  it('requires a check of a new destination, and before a link redirects again', () => {
    const unchecked: readonly [readonly LedgerLinkEvent[], LinkChange][] = [
      [[link], { url }],
      [[link, blocked('spring', 2)], { url }],
      [[link, disabled('spring', 2)], { disabled: false }],
      [usedUp, { maxClicks: 4 }],
      [[ending], { expiresIn: 60 }],
      [[ending, expired('spring', 2)], { expiresIn: null }],
    ];
    for (const [history, wanted] of unchecked) {
      const refusal = { urls: [wanted.url ?? link.data.url] };
      given(...history)
        .when(change(wanted))
        .thenRefused('unchecked', refusal);
      given(...history)
        .when(change(wanted, 'https://example.org/another'))
        .thenRefused('unchecked', refusal);
    }
    given(link, disabled('spring', 2), blocked('spring', 3))
      .when(change({ disabled: false }))
      .then(enabled('spring', 4, metadata()));
  });

  it('changes rules only if they differ, and removes them', () => {
    const rules: readonly RedirectRule[] = [
      { name: 'ios', when: { os: ['iOS'] }, url: 'https://apps.example/' },
      {
        ...{ name: 'test', when: {} },
        split: [
          { name: 'a', url: 'https://example.com/a', weight: 1 },
          { name: 'b', url: 'https://example.com/b', weight: 3 },
        ],
      },
    ];
    const urls = [link.data.url, ...ruleUrls(rules)];
    const ruled = edited('spring', 2, { rules: [...rules], forwardQuery: true });
    given(link).when(change({ rules })).thenRefused('unchecked', { urls });
    given(link)
      .when(change({ rules }, urls.slice(1)))
      .thenRefused('unchecked', { urls });
    given(link)
      .when(change({ rules, forwardQuery: true }, urls))
      .then(edited('spring', 2, { rules: [...rules], forwardQuery: true }, metadata()));
    given(link, ruled)
      .when(change({ rules: structuredClone(rules), forwardQuery: true }))
      .thenNothing();
    given(link, ruled)
      .when(change({ rules: null, forwardQuery: false }))
      .then(edited('spring', 3, { rules: null, forwardQuery: false }, metadata()));
    given(link)
      .when(change({ rules: null, forwardQuery: false }))
      .thenNothing();
    given(link, ruled, disabled('spring', 3))
      .when(change({ disabled: false }))
      .thenRefused('unchecked', { urls });
  });

  it('requires the hash of a password if nothing else refuses the change', () => {
    const password = { hash: null };
    given(link).when(change({ password })).thenRefused('unhashed');
    given(link)
      .when(change({ password, url }))
      .thenRefused('unchecked', { urls: [url] });
    given(link)
      .when(change({ password, maxClicks: 2 }, [], 3))
      .thenRefused('clicksTaken', { taken: 3 });
  });

  it('never leaves a link active beyond its end or limit, and never loses clicks', () => {
    const someChange = fc.record<LinkChange>(
      {
        expiresIn: fc.option(fc.integer({ min: 60, max: 1_000 }), { nil: null }),
        maxClicks: fc.integer({ min: 1, max: 5 }),
        disabled: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    const limitedLink = created('spring', { maxClicks: 3, expiresAt: at(60).toISOString() });
    fc.assert(
      fc.property(fc.array(someChange), fc.integer({ min: 0, max: 3 }), (changes, taken) => {
        let state = [limitedLink, ...clicks.slice(0, taken)].reduce(
          evolve,
          linkChangeDecider.initialState,
        );
        for (const requested of changes) {
          const decision = decide(
            { ...change(requested, limitedLink.data.url), account: null },
            state,
          );
          if (decision.type === 'accepted') state = decision.events.reduce(evolve, state);
          const { ledger, current } = state;
          if (ledger.status === 'none' || current.status === 'none')
            throw new Error('the link does not exist');
          expect(ledger.clicks).to.equal(taken);
          expect(ledger.maxClicks).to.be.at.least(taken);
          expect(statusOf(ledger)).to.equal(current.status);
          const isOver =
            ledger.clicks >= (ledger.maxClicks ?? 0) ||
            (decision.type === 'accepted' &&
              ledger.expiresAt !== null &&
              ledger.expiresAt <= at(100));
          // A change to the current limit or end writes no LinkEdited.
          const isEdited =
            decision.type === 'accepted' &&
            decision.events.some(({ type }) => type === 'linklog.LinkEdited.v3');
          if (isOver && isEdited) {
            expect(current.status).to.not.equal('active');
          }
        }
      }),
      { examples: [[[{ disabled: true }, { maxClicks: 3, disabled: false }], 0]] },
    );
  });
});
