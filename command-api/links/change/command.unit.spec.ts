import { largeRules } from '../../../schemas/testing/large-rules.js';
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
  restored,
  unblocked,
  visited,
} from '../../../schemas/testing/events.js';
import { ruleUrls, type RedirectRule } from '../../../schemas/redirect-rules.js';
import { evolveLedgerLink, type LedgerLinkEvent } from '../../../schemas/folds/ledger-link.js';
import { restorableMs } from '../../../schemas/folds/link-status.js';
import {
  commandMetadata,
  type FlatCommand,
  metadataOfEvent,
  specify,
} from '../../testing/decisions.js';
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
  event.type === 'linklog.LinkVisited.v4'
    ? { ...state, ledger: evolveLedgerLink(state.ledger, event) }
    : evolveManagedLink(state, event);

const { accepts, ignores, refuses } = specify<
  LinkCommand,
  LedgerLinkEvent,
  ManagedLink,
  LinkRefusal
>('spring', { ...linkChangeDecider, evolve }, { ...commandMetadata, now: at(100), actor: 'key-1' });

const url = 'https://example.net/';
const createdWith = (data: Parameters<typeof created>[1]) =>
  created('spring', data, { account: 'acme' });
const link = createdWith({});
const limited = createdWith({ maxClicks: 3 });
const ending = createdWith({ expiresAt: at(60).toISOString() });
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
const restore = (safeUrls: readonly string[] = []): Values => ({
  ...{ type: 'RestoreLink', account: 'acme', versions: null, safeUrls },
});
const remove: Values = { type: 'DeleteLink', account: 'acme', versions: null };
/** @param number of the event in the decision */
const metadata = (number = 1) => ({
  ...{ ...metadataOfEvent(number), time: at(100), account: 'acme', actor: 'key-1' },
});

const expiredNow = (sequence: number) =>
  expired('spring', sequence, 'clicks', { ...metadata(2), causationId: idOf(1) });
const editedNow = (sequence: number, data: Parameters<typeof edited>[2]) =>
  edited('spring', sequence, data, metadata());
const describedNow = (sequence: number, data: Parameters<typeof described>[2]) =>
  described('spring', sequence, data, metadata());
const safe = link.data.url;

describe('command API: changing a link', () => {
  it('edits only what is different', () => {
    const wanted = { url, expiresIn: 60, password: { hash: 'hash' }, title: 'Spring' };
    const end = at(160).toISOString();
    accepts(
      [link],
      change(wanted, url),
      editedNow(2, { url, expiresAt: end, password: 'set', passwordHash: 'hash' }),
      described('spring', 3, { title: 'Spring' }, metadata(2)),
    );
    const same = { url: safe, expiresIn: null, password: null, disabled: false };
    ignores([link], change({ ...same, title: null, note: null, tags: null }));
  });

  it('removes the end and the password', () => {
    const secured = createdWith({ passwordHash: 'hash', expiresAt: at(600).toISOString() });
    const removal = editedNow(2, { expiresAt: null, password: 'removed' });
    accepts([secured], change({ expiresIn: null, password: null }), removal);
  });

  it('adds and removes tags, up to 20', () => {
    const tagged = [link, described('spring', 2, { tags: ['a', 'b'] })];
    const changed = describedNow(3, { tags: ['b', 'c'] });
    accepts(tagged, change({ addTags: ['b', 'c'], removeTags: ['a'] }), changed);
    ignores(tagged, change({ addTags: ['a'], removeTags: ['x'] }));
    const many = Array.from({ length: 19 }, (_, index) => `tag ${index}`);
    refuses(tagged, change({ addTags: many }), 'tooManyTags');
  });

  it('rejects a link of more than 64 KiB', () => {
    refuses([link], change({ rules: largeRules }), 'tooLarge');
  });

  it('matches old tags that are untrimmed and not in NFC', () => {
    const tagged = [link, described('spring', 2, { tags: ['a\u0308', ' b', '\u00f6'] })];
    const changed = describedNow(3, { tags: ['\u00f6'] });
    accepts(tagged, change({ removeTags: ['\u00e4', 'b'] }), changed);
    ignores(tagged, change({ addTags: ['\u00e4', 'b', '\u00f6'] }));
  });

  it('disables, enables and deletes; a second deletion changes nothing', () => {
    const gone = [link, deleted('spring', 2)];
    accepts([link], change({ disabled: true }), disabled('spring', 2, metadata()));
    const enable = change({ disabled: false }, safe);
    accepts([link, disabled('spring', 2)], enable, enabled('spring', 3, metadata()));
    accepts([link], remove, deleted('spring', 2, metadata()));
    ignores(gone, remove);
    refuses(gone, change({ title: 'x' }), 'deleted');
  });

  it('restores a deleted link once, after a check of its destinations', () => {
    const gone = [link, deleted('spring', 2)];
    accepts(gone, restore([safe]), restored('spring', 3, metadata()));
    refuses(gone, restore(), 'unchecked', { urls: [safe] });
    ignores([...gone, restored('spring', 3)], restore());
    ignores([link], restore());
    const off = [link, disabled('spring', 2), deleted('spring', 3)];
    accepts(off, restore(), restored('spring', 4, metadata()));
  });

  it('restores a link within 30 days after its last change', () => {
    const ago = (ms: number) => ({ time: at(100 - ms / 1_000) });
    const late = deleted('spring', 2, ago(restorableMs + 1));
    refuses([link, late], restore([safe]), 'deletedLongAgo');
    const inTime = deleted('spring', 2, ago(restorableMs));
    accepts([link, inTime], restore([safe]), restored('spring', 3, metadata()));
    const changed = [blocked('spring', 3, ago(2)), unblocked('spring', 4, ago(1))];
    accepts([link, late, ...changed], restore([safe]), restored('spring', 5, metadata()));
  });

  it('is refused for links of other accounts, except to operators', () => {
    const foreign = created('spring', {}, { account: 'other' });
    refuses([], change({ title: 'x' }), 'notFound');
    refuses([foreign], remove, 'notFound');
    refuses([foreign, deleted('spring', 2)], restore([safe]), 'notFound');
    const byOperator = deleted('spring', 2, { ...metadata(), account: 'other' });
    accepts([foreign], { ...remove, account: null }, byOperator);
  });

  it('is refused for another version', () => {
    const removeVersion = { ...remove, versions: [2] };
    refuses([link], removeVersion, 'changedMeanwhile');
    const titled = described('spring', 2, { title: 'x' });
    accepts([link, titled], removeVersion, deleted('spring', 3, metadata()));
  });

  it('raises a limit, and lowers it down to the clicks taken, which expires the link', () => {
    const clicked = [limited, ...clicks.slice(0, 2)];
    accepts(clicked, change({ maxClicks: 9 }), editedNow(2, { maxClicks: 9 }));
    accepts(clicked, change({ maxClicks: 2 }), editedNow(2, { maxClicks: 2 }), expiredNow(3));
    refuses(clicked, change({ maxClicks: 1 }), 'clicksTaken', { taken: 2 });
  });

  it('sets the first limit with the counted clicks as opening balance', () => {
    const limit = (maxClicks: number) => change({ maxClicks }, [], 3);
    accepts([link], limit(5), editedNow(2, { maxClicks: 5, clicks: 3 }));
    accepts([link], limit(3), editedNow(2, { maxClicks: 3, clicks: 3 }), expiredNow(3));
    refuses([link], limit(2), 'clicksTaken', { taken: 3 });
  });

  it('removes a limit, and sets a new one without counting clicks twice', () => {
    const clicked = [limited, ...clicks.slice(0, 2)];
    const unlimited = [...clicked, edited('spring', 2, { maxClicks: null })];
    accepts(clicked, change({ maxClicks: null }), editedNow(2, { maxClicks: null }));
    accepts(usedUp, change({ maxClicks: null }, safe), editedNow(3, { maxClicks: null }));
    accepts(unlimited, change({ maxClicks: 9 }, [], 7), editedNow(3, { maxClicks: 9, clicks: 7 }));
    // The statistics may lag behind the ledger.
    accepts(unlimited, change({ maxClicks: 9 }, [], 1), editedNow(3, { maxClicks: 9, clicks: 2 }));
  });

  it('sets and removes start and end; the start must be first', () => {
    const [startsAt, expiresAt] = [at(200).toISOString(), at(300).toISOString()];
    const scheduled = [createdWith({ startsAt })];
    accepts([link], change({ startsAt, expiresAt }), editedNow(2, { startsAt, expiresAt }));
    accepts(scheduled, change({ startsAt: null }), editedNow(2, { startsAt: null }));
    ignores(scheduled, change({ startsAt }));
    for (const end of [{ expiresAt: startsAt }, { expiresIn: 60 }]) {
      refuses(scheduled, change(end), 'startsAfterEnd');
    }
    refuses([createdWith({ expiresAt })], change({ startsAt: expiresAt }), 'startsAfterEnd');
  });

  it('reactivates an expired link if neither the end nor the limit is reached', () => {
    const over = [ending, expired('spring', 2)];
    accepts(usedUp, change({ maxClicks: 4 }, safe), editedNow(3, { maxClicks: 4 }));
    accepts(over, change({ expiresIn: null }, safe), editedNow(3, { expiresAt: null }));
    const prolonged = editedNow(3, { expiresAt: at(160).toISOString() });
    accepts(usedUp, change({ expiresIn: 60 }), prolonged, expiredNow(4));
  });

  it('enables a link without an edit if the requested limit is the current one', () => {
    const off = [limited, ...clicks, disabled('spring', 2)];
    const enabling = change({ maxClicks: 3, disabled: false }, safe);
    accepts(off, enabling, enabled('spring', 3, metadata()));
    const lower = change({ maxClicks: 2, disabled: false }, safe);
    refuses(off, lower, 'clicksTaken', { taken: 3 });
  });

  it('requires a check of a new destination, and before a link redirects again', () => {
    const later = { startsAt: at(200).toISOString(), expiresAt: at(300).toISOString() };
    const unchecked: readonly [readonly LedgerLinkEvent[], LinkChange][] = [
      [[link], { url }],
      [[link, blocked('spring', 2)], { url }],
      [[link, disabled('spring', 2)], { disabled: false }],
      [usedUp, { maxClicks: 4 }],
      [[ending], { expiresIn: 60 }],
      [[ending, expired('spring', 2)], { expiresIn: null }],
      [[ending, expired('spring', 2)], later],
    ];
    for (const [history, wanted] of unchecked) {
      const refusal = { urls: [wanted.url ?? safe] };
      refuses(history, change(wanted), 'unchecked', refusal);
      refuses(history, change(wanted, 'https://example.org/another'), 'unchecked', refusal);
    }
    const off = [link, disabled('spring', 2), blocked('spring', 3)];
    accepts(off, change({ disabled: false }), enabled('spring', 4, metadata()));
  });

  it('changes options only if they differ, removes them, and checks their URLs', () => {
    const split = [
      { name: 'a', url: 'https://example.com/a', weight: 1 },
      { name: 'b', url: 'https://example.com/b', weight: 3 },
    ];
    const rules: RedirectRule[] = [
      { name: 'ios', when: { os: ['iOS'] }, url: 'https://apps.example/' },
      { name: 'test', when: {}, split },
    ];
    const options = {
      ...{ rules, forwardQuery: true, forwardPath: true as const, redirectStatus: 307 as const },
      expiredUrl: 'https://example.org/after',
      card: { title: 'Sale', image: 'https://img.example/a.png' },
    };
    const urls = [safe, ...ruleUrls(rules), options.expiredUrl, options.card.image];
    refuses([link], change(options), 'unchecked', { urls });
    refuses([link], change(options, urls.slice(1)), 'unchecked', { urls });
    accepts([link], change(options, urls), editedNow(2, options));
    const optional = [link, edited('spring', 2, options)];
    ignores(optional, change(structuredClone(options)));
    const removal = { redirectStatus: null, expiredUrl: null, forwardPath: null, card: null };
    const none = { ...removal, rules: null, forwardQuery: false };
    accepts(optional, change(none), editedNow(3, none));
    ignores([link], change(none));
    const off = [...optional, disabled('spring', 3)];
    refuses(off, change({ disabled: false }), 'unchecked', { urls });
  });

  it('refuses a permanent redirect with a limit or a password', () => {
    const refusal = { message: 'A permanent redirect cannot have maxClicks or a password' };
    const permanent = { redirectStatus: 301 } as const;
    accepts([link], change(permanent), editedNow(2, permanent));
    const cached = [link, edited('spring', 2, permanent)];
    refuses(cached, change({ maxClicks: 5 }), 'conflict', refusal);
    refuses(cached, change({ password: { hash: null } }), 'conflict', refusal);
    const temporary = { redirectStatus: 302, maxClicks: 5 } as const;
    accepts(cached, change(temporary), editedNow(3, { ...temporary, clicks: 0 }));
    const limited = [createdWith({ maxClicks: 5 })];
    refuses(limited, change({ redirectStatus: 308 }), 'conflict', refusal);
    const unlimited = { redirectStatus: 308, maxClicks: null } as const;
    accepts(limited, change(unlimited), editedNow(2, unlimited));
  });

  it('requires the hash of a password if nothing else refuses the change', () => {
    const password = { hash: null };
    refuses([link], change({ password }), 'unhashed');
    refuses([link], change({ password, url }), 'unchecked', { urls: [url] });
    refuses([link], change({ password, maxClicks: 2 }, [], 3), 'clicksTaken', { taken: 3 });
  });
});
