import { expect } from 'chai';
import type { RedirectRule } from '../../schemas/redirect-rules.js';
import { evolveLink, initialState, type LinkState } from '../../schemas/folds/link.js';
import type { LinkEvent } from '../../schemas/events/catalogue.js';
import { answerSpecification } from '../../schemas/testing/decider-specification.js';
import { at, blocked, created, expired, noon, unblocked } from '../../schemas/testing/events.js';
import {
  decideEntry,
  decidePreview,
  decideVisit,
  servedLink,
  type FormEntry,
  type EntryDecision,
  type PreviewDecision,
  type VisitRequest,
  type VisitDecision,
} from './decision.js';

const given = answerSpecification<LinkState, LinkEvent, VisitRequest, VisitDecision>({
  initialState,
  evolve: evolveLink,
  answer: (visit, state) => decideVisit(servedLink(state, 1), visit),
});

const visit = (fields: Partial<VisitRequest> = {}): VisitRequest => ({
  head: false,
  bot: false,
  office: false,
  now: noon.getTime(),
  ...fields,
});
const kinds = [
  visit(),
  visit({ head: true }),
  visit({ bot: true }),
  visit({ head: true, bot: true }),
];
const officeKinds = kinds.map((kind) => ({ ...kind, office: true }));

const unlimited = created('spring');
const limited = created('spring', { maxClicks: 3 });
const passwordHash = '$argon2id$…';
const secured = created('spring', { passwordHash });
const securedAndLimited = created('spring', { passwordHash, maxClicks: 3 });
const securedAndEnding = created('spring', { passwordHash, expiresAt: at(60).toISOString() });
const ending = created('spring', { expiresAt: at(60).toISOString() });

describe('redirect edge: decision for a visit', () => {
  it('redirects and counts visitors and bots; does not count HEAD', () => {
    given(unlimited).when(visit()).then({ type: 'redirect', counted: true });
    given(unlimited)
      .when(visit({ bot: true }))
      .then({ type: 'redirect', counted: true });
    for (const bot of [true, false]) {
      given(unlimited)
        .when(visit({ head: true, bot }))
        .then({ type: 'redirect', counted: false });
    }
  });

  it('takes a click of a limited link; bots and HEAD get the form', () => {
    given(limited).when(visit()).then({ type: 'takeClick' });
    for (const kind of kinds.slice(1)) given(limited).when(kind).then({ type: 'askToContinue' });
  });

  it('requires the password for every client', () => {
    for (const link of [secured, securedAndLimited, securedAndEnding]) {
      for (const kind of kinds) given(link).when(kind).then({ type: 'askPassword' });
    }
  });

  it('is notFound before the start of any link', () => {
    const startsAt = at(60).toISOString();
    const before = { type: 'notFound' } as const;
    for (const options of [{}, { maxClicks: 3 }, { passwordHash }]) {
      const scheduled = created('spring', { ...options, startsAt });
      for (const kind of [...kinds, ...officeKinds]) given(scheduled).when(kind).then(before);
      const served = servedLink(evolveLink(initialState, scheduled), 1);
      expect(decidePreview(served, noon.getTime())).to.deep.equal(before);
      expect(decidePreview(served, at(60).getTime())).to.include({ type: 'preview' });
    }
    const scheduled = servedLink(
      evolveLink(initialState, created('spring', { passwordHash, startsAt })),
      1,
    );
    expect(decideEntry(scheduled, { now: noon.getTime(), accepted: true })).to.deep.equal(before);
    given(created('spring', { startsAt }))
      .when(visit({ now: at(60).getTime() }))
      .then({ type: 'redirect', counted: true });
    given(created('spring', { startsAt }), blocked('spring', 2))
      .when(visit())
      .then({ type: 'blocked' });
  });

  it('is a page that refreshes for Microsoft Office, of every link', () => {
    for (const link of [unlimited, limited, ending, secured, securedAndLimited]) {
      for (const kind of officeKinds) {
        given(link).when(kind).then({ type: 'refresh' });
        given(link, expired('spring', 2)).when(kind).then({ type: 'expired' });
      }
    }
  });

  it('is notFound without a link', () => {
    for (const kind of kinds) given().when(kind).then({ type: 'notFound' });
  });

  it('is expired from the millisecond of the expiry on', () => {
    given(ending)
      .when(visit({ now: at(59.999).getTime() }))
      .then({ type: 'redirect', counted: true });
    for (const kind of kinds) {
      given(ending)
        .when({ ...kind, now: at(60).getTime() })
        .then({ type: 'expired' });
    }
  });

  it('is the expiry or block of the link for every visitor', () => {
    for (const link of [unlimited, limited, ending, secured, securedAndLimited]) {
      for (const kind of kinds) {
        given(link, expired('spring', 2)).when(kind).then({ type: 'expired' });
        given(link, blocked('spring', 2)).when(kind).then({ type: 'blocked' });
        given(link, blocked('spring', 2), expired('spring', 3))
          .when({ ...kind, now: at(90).getTime() })
          .then({ type: 'blocked' });
        given(link, blocked('spring', 2), expired('spring', 3), unblocked('spring', 4))
          .when(kind)
          .then({ type: 'expired' });
      }
    }
  });
});

describe('redirect edge: decision for a submitted form', () => {
  const given = answerSpecification<LinkState, LinkEvent, FormEntry, EntryDecision>({
    initialState,
    evolve: evolveLink,
    answer: (entry, state) => decideEntry(servedLink(state, 1), entry),
  });
  const entry = { now: noon.getTime(), accepted: false };
  const accepted = { ...entry, accepted: true };

  it('redirects and counts after the correct password', () => {
    given(secured).when(entry).then({ type: 'checkPassword', passwordHash });
    given(secured).when(accepted).then({ type: 'redirect', counted: true });
  });

  it('takes a click of a limited link, after the password if it has one', () => {
    given(limited).when(entry).then({ type: 'takeClick' });
    given(securedAndLimited).when(entry).then({ type: 'checkPassword', passwordHash });
    given(securedAndLimited).when(accepted).then({ type: 'takeClick' });
  });

  it('is noForm for a link without a password and a limit', () => {
    for (const submitted of [entry, accepted]) {
      given().when(submitted).then({ type: 'noForm' });
      for (const link of [unlimited, ending]) {
        given(link).when(submitted).then({ type: 'noForm' });
        given(link, expired('spring', 2)).when(submitted).then({ type: 'noForm' });
      }
    }
  });

  it('is the expiry or block of the link, also after the password check', () => {
    for (const submitted of [entry, accepted]) {
      given(securedAndEnding)
        .when({ ...submitted, now: at(60).getTime() })
        .then({ type: 'expired' });
      for (const link of [secured, limited]) {
        given(link, expired('spring', 2)).when(submitted).then({ type: 'expired' });
        given(link, blocked('spring', 2)).when(submitted).then({ type: 'blocked' });
      }
    }
  });
});

describe('redirect edge: decision for a preview', () => {
  const given = answerSpecification<LinkState, LinkEvent, Date, PreviewDecision>({
    initialState,
    evolve: evolveLink,
    answer: (now, state) => decidePreview(servedLink(state, 1), now.getTime()),
  });
  const preview = {
    type: 'preview',
    locations: ['https://example.com/spring'],
    createdAt: noon.getTime(),
    expiresAt: null,
  } as const;

  it('has the destination, creation time and expiry', () => {
    given(unlimited).when(noon).then(preview);
    given(ending)
      .when(noon)
      .then({ ...preview, expiresAt: at(60).getTime() });
  });

  it('hides the destination of a link with a password or a limit', () => {
    for (const link of [limited, secured, securedAndLimited]) {
      given(link)
        .when(noon)
        .then({ ...preview, locations: null });
    }
  });

  it('has every possible destination once', () => {
    const rules = [
      { name: 'a', when: { os: ['iOS' as const] }, url: 'https://example.com/ios' },
      {
        ...{ name: 'b', when: {} },
        split: [
          { name: 'a', url: 'https://example.com/spring', weight: 1 },
          { name: 'b', url: 'https://example.com/b', weight: 1 },
        ],
      },
    ];
    const urls = ['ios', 'spring', 'b'].map((path) => `https://example.com/${path}`);
    given(created('spring', { rules }))
      .when(noon)
      .then({ ...preview, locations: urls });
  });

  it('is the expiry or block of the link', () => {
    given().when(noon).then({ type: 'notFound' });
    given(ending).when(at(60)).then({ type: 'expired' });
    given(unlimited, expired('spring', 2)).when(noon).then({ type: 'expired' });
    given(unlimited, blocked('spring', 2)).when(noon).then({ type: 'blocked' });
  });
});

describe('redirect edge: cached link', () => {
  it('has the location and the times of the state', () => {
    const data = { url: 'https://exämple.com/ä', maxClicks: 3, expiresAt: at(60).toISOString() };
    const state = evolveLink(initialState, created('spring', data, { account: 'acme' }));
    expect(servedLink(state, 1)).to.deep.equal({
      subject: 'spring',
      account: 'acme',
      startsAt: null,
      status: 'active',
      location: 'https://xn--exmple-cua.com/%C3%A4',
      rules: null,
      forwardQuery: false,
      createdAt: noon.getTime(),
      expiresAt: at(60).getTime(),
      limited: true,
      passwordHash: null,
      sequence: 1,
    });
  });

  it('has the locations of rules', () => {
    const rules = [
      { name: 'ä', when: {}, url: 'https://exämple.com/ä' },
      { name: 'b', when: {}, split: [{ name: 'c', url: 'https://example.com/ ö', weight: 2 }] },
    ] as unknown as RedirectRule[];
    const state = evolveLink(initialState, created('spring', { rules, forwardQuery: true }));
    expect(servedLink(state, 1)).to.deep.include({
      rules: [
        { name: 'ä', when: {}, url: 'https://xn--exmple-cua.com/%C3%A4' },
        {
          ...{ name: 'b', when: {} },
          split: [{ name: 'c', url: 'https://example.com/%20%C3%B6', weight: 2 }],
        },
      ],
      forwardQuery: true,
    });
  });

  it('has neither expiry nor limit by default', () => {
    expect(servedLink(evolveLink(initialState, unlimited), 1)).to.include({
      passwordHash: null,
      expiresAt: null,
      limited: false,
    });
  });
});
