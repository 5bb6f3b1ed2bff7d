import { noOptions } from '../../schemas/link-options.js';
import { expect } from 'chai';
import type { RedirectRule } from '../../schemas/redirect-rules.js';
import { evolveLink, initialState } from '../../schemas/folds/link.js';
import type { LinkEvent } from '../../schemas/events/catalogue.js';
import { at, blocked, created, expired, noon, unblocked } from '../../schemas/testing/events.js';
import { decideEntry, decidePreview, decideVisit, servedLink } from './decision.js';
import type { VisitRequest } from './decision.js';

const linkOf = (...history: readonly LinkEvent[]) =>
  servedLink(history.reduce(evolveLink, initialState), 1);

const visit = {
  ...{ head: false, bot: false, office: false, previewer: false },
  now: noon.getTime(),
};
const kinds: readonly VisitRequest[] = [
  ...[visit, { ...visit, head: true }, { ...visit, bot: true }],
  { ...visit, head: true, bot: true },
];
const officeKinds = kinds.map((kind) => ({ ...kind, office: true }));

const passwordHash = '$argon2id$…';
const [expiresAt, startsAt] = [at(60).toISOString(), at(60).toISOString()];
const unlimited = created('spring');
const limited = created('spring', { maxClicks: 3 });
const secured = created('spring', { passwordHash });
const securedAndLimited = created('spring', { passwordHash, maxClicks: 3 });
const ending = created('spring', { expiresAt });
const securedAndEnding = created('spring', { passwordHash, expiresAt });
const every = [unlimited, limited, ending, secured, securedAndLimited, securedAndEnding];

describe('redirect edge: decision for a visit', () => {
  const expectVisits = (
    visits: readonly VisitRequest[],
    type: string,
    ...history: readonly LinkEvent[]
  ): void => {
    for (const request of visits)
      expect(decideVisit(linkOf(...history), request).type).to.equal(type);
  };

  it('redirects, and counts everything except HEAD', () => {
    for (const request of kinds) {
      const redirect = { type: 'redirect', counted: !request.head };
      expect(decideVisit(linkOf(unlimited), request)).to.deep.equal(redirect);
    }
  });

  it('takes a click of a limited link; bots and HEAD get the form', () => {
    expectVisits([visit], 'takeClick', limited);
    expectVisits(kinds.slice(1), 'askToContinue', limited);
  });

  it('requires the password for every client', () => {
    for (const link of [secured, securedAndLimited, securedAndEnding])
      expectVisits(kinds, 'askPassword', link);
  });

  it('is the card for a previewer, if the link has one', () => {
    const previewer = { ...visit, bot: true, previewer: true };
    const card = { title: 'Sale' };
    const decided = (data: Parameters<typeof created>[1], request = previewer) =>
      decideVisit(linkOf(created('spring', data)), request);
    expect(decided({ card })).to.deep.equal({ type: 'card', counted: true });
    for (const data of [{ maxClicks: 3 }, { passwordHash }]) {
      expect(decided({ ...data, card })).to.deep.equal({ type: 'card', counted: false });
    }
    expect(decided({ card }, { ...previewer, head: true }).type).to.equal('card');
    expect(decided({ card }, { ...previewer, previewer: false }).type).to.equal('redirect');
    expect(decided({}).type).to.equal('redirect');
    expectVisits([previewer], 'blocked', created('spring', { card }), blocked('spring', 2));
  });

  it('is a page that refreshes for Microsoft Office, of every link', () => {
    for (const link of every) expectVisits(officeKinds, 'refresh', link);
  });

  it('is notFound without a link, and before the start of any link', () => {
    expectVisits(kinds, 'notFound');
    for (const options of [{}, { maxClicks: 3 }, { passwordHash }]) {
      expectVisits(
        [...kinds, ...officeKinds],
        'notFound',
        created('spring', { ...options, startsAt }),
      );
    }
    const scheduled = created('spring', { startsAt });
    expectVisits([{ ...visit, now: at(60).getTime() }], 'redirect', scheduled);
    expectVisits([visit], 'blocked', scheduled, blocked('spring', 2));
  });

  it('is expired from the millisecond of the expiry on', () => {
    expectVisits([{ ...visit, now: at(59.999).getTime() }], 'redirect', ending);
    expectVisits(
      kinds.map((kind) => ({ ...kind, now: at(60).getTime() })),
      'expired',
      ending,
    );
  });

  it('is the expiry or block of the link for every visitor', () => {
    const [block, expiry] = [blocked('spring', 2), expired('spring', 3)];
    const later = kinds.map((kind) => ({ ...kind, now: at(90).getTime() }));
    for (const link of every) {
      expectVisits([...kinds, ...officeKinds], 'expired', link, expired('spring', 2));
      expectVisits(kinds, 'blocked', link, block);
      expectVisits(later, 'blocked', link, block, expiry);
      expectVisits(kinds, 'expired', link, block, expiry, unblocked('spring', 4));
    }
  });
});

describe('redirect edge: decision for a submitted form', () => {
  const redirect = { type: 'redirect', counted: true };
  const checkPassword = { type: 'checkPassword', passwordHash };
  const [takeClick, noForm] = [{ type: 'takeClick' }, { type: 'noForm' }];
  const scheduled = created('spring', { passwordHash, startsAt });

  for (const [title, history, first, afterPassword] of [
    ['redirects and counts after the correct password', [secured], checkPassword, redirect],
    ['takes a click of a limited link', [limited], takeClick, takeClick],
    ['takes a click after the correct password', [securedAndLimited], checkPassword, takeClick],
    ['is noForm without a link', [], noForm, noForm],
    ['is noForm without a password and a limit', [ending], noForm, noForm],
    ['is noForm after the expiry too', [unlimited, expired('spring', 2)], noForm, noForm],
    ['is notFound before the start', [scheduled], { type: 'notFound' }, { type: 'notFound' }],
  ] as const) {
    it(title, () => {
      const link = linkOf(...history);
      const decide = (accepted: boolean) => decideEntry(link, { now: noon.getTime(), accepted });
      expect([decide(false), decide(true)]).to.deep.equal([first, afterPassword]);
    });
  }

  it('is the expiry or block of the link, also after the password check', () => {
    for (const accepted of [false, true]) {
      const decide = (now: Date, ...history: readonly LinkEvent[]) =>
        decideEntry(linkOf(...history), { now: now.getTime(), accepted }).type;
      expect(decide(at(60), securedAndEnding)).to.equal('expired');
      for (const link of [secured, limited]) {
        expect(decide(noon, link, expired('spring', 2))).to.equal('expired');
        expect(decide(noon, link, blocked('spring', 2))).to.equal('blocked');
      }
    }
  });
});

describe('redirect edge: decision for a preview', () => {
  const decide = (now: Date, ...history: readonly LinkEvent[]) =>
    decidePreview(linkOf(...history), now.getTime());
  const preview = {
    type: 'preview',
    locations: ['https://example.com/spring'],
    createdAt: noon.getTime(),
    expiresAt: null,
  };

  it('has the destination, creation time and expiry', () => {
    expect(decide(noon, unlimited)).to.deep.equal(preview);
    expect(decide(noon, ending)).to.deep.equal({ ...preview, expiresAt: at(60).getTime() });
  });

  it('hides the destination of a link with a password or a limit', () => {
    for (const link of [limited, secured, securedAndLimited])
      expect(decide(noon, link)).to.deep.equal({ ...preview, locations: null });
  });

  it('has every possible destination once', () => {
    const split = ['spring', 'b'].map((name) => ({
      ...{ name, url: `https://example.com/${name}`, weight: 1 },
    }));
    const rules: RedirectRule[] = [
      { name: 'a', when: { os: ['iOS'] }, url: 'https://example.com/ios' },
      { name: 'b', when: {}, split },
    ];
    const locations = ['ios', 'spring', 'b'].map((path) => `https://example.com/${path}`);
    const link = created('spring', { rules });
    expect(decide(noon, link)).to.deep.equal({ ...preview, locations });
  });

  it('is the state of a link that does not redirect', () => {
    const scheduled = created('spring', { startsAt });
    expect(decide(noon)).to.deep.equal({ type: 'notFound' });
    expect(decide(noon, scheduled)).to.deep.equal({ type: 'notFound' });
    expect(decide(at(60), scheduled)).to.include({ type: 'preview' });
    expect(decide(at(60), ending)).to.deep.equal({ type: 'expired' });
    expect(decide(noon, unlimited, expired('spring', 2))).to.deep.equal({ type: 'expired' });
    expect(decide(noon, unlimited, blocked('spring', 2))).to.deep.equal({ type: 'blocked' });
  });
});

describe('redirect edge: cached link', () => {
  it('has the locations and the times of the state', () => {
    const rules = [
      { name: 'ä', when: {}, url: 'https://exämple.com/ä' },
      { name: 'b', when: {}, split: [{ name: 'c', url: 'https://example.com/ ö', weight: 2 }] },
    ] as unknown as RedirectRule[];
    const data = { url: 'https://exämple.com/ä', maxClicks: 3, startsAt, expiresAt, rules };
    const link = linkOf(created('spring', { ...data, forwardQuery: true }, { account: 'acme' }));
    const [location, path] = ['https://xn--exmple-cua.com/%C3%A4', '%20%C3%B6'];
    expect(link).to.deep.equal({
      ...{ subject: 'spring', account: 'acme', status: 'active', location, codes: [] },
      options: {
        rules: [
          { name: 'ä', when: {}, url: location },
          {
            name: 'b',
            when: {},
            split: [{ name: 'c', url: `https://example.com/${path}`, weight: 2 }],
          },
        ],
        forwardQuery: true,
      },
      ...{ createdAt: noon.getTime(), startsAt: at(60).getTime() },
      ...{ expiresAt: at(60).getTime(), limited: true, passwordHash: null, sequence: 1 },
      campaigns: null,
    });
  });

  it('has no times, options, limit and password by default', () => {
    expect(linkOf(unlimited)).to.include({
      ...{ startsAt: null, expiresAt: null, options: noOptions },
      ...{ limited: false, passwordHash: null },
    });
  });
});
