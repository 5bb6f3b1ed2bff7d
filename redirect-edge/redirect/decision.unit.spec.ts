import { expect } from 'chai';
import { evolveLink, initialState } from '../../schemas/folds/link.js';
import type { LinkEvent } from '../../schemas/events/catalogue.js';
import { answerSpecification } from '../../schemas/testing/decider-specification.js';
import { at, blocked, created, expired, noon, unblocked } from '../../schemas/testing/events.js';
import type { LinkState } from '../../schemas/folds/link.js';
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

const visit = (told: Partial<VisitRequest> = {}): VisitRequest => ({
  head: false,
  bot: false,
  office: false,
  now: noon.getTime(),
  ...told,
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

describe('redirect edge: what a visitor gets', () => {
  it('is the destination, counted, bots too; HEAD is not counted', () => {
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

  it('is one of the clicks of a limited link; bots and HEAD are asked to continue', () => {
    given(limited).when(visit()).then({ type: 'takeClick' });
    for (const kind of kinds.slice(1)) given(limited).when(kind).then({ type: 'askToContinue' });
  });

  it('is the form of a link with a password, for every client', () => {
    for (const link of [secured, securedAndLimited, securedAndEnding]) {
      for (const kind of kinds) given(link).when(kind).then({ type: 'askPassword' });
    }
  });

  it('is not found before the start, whatever the link is', () => {
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

  it('is nothing where there is no link', () => {
    for (const kind of kinds) given().when(kind).then({ type: 'notFound' });
  });

  it('is the expiry from its millisecond on', () => {
    given(ending)
      .when(visit({ now: at(59.999).getTime() }))
      .then({ type: 'redirect', counted: true });
    for (const kind of kinds) {
      given(ending)
        .when({ ...kind, now: at(60).getTime() })
        .then({ type: 'expired' });
    }
  });

  it('is the link’s expiry or block, for every visitor', () => {
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

describe('redirect edge: what a visitor who submits a form gets', () => {
  const given = answerSpecification<LinkState, LinkEvent, FormEntry, EntryDecision>({
    initialState,
    evolve: evolveLink,
    answer: (entry, state) => decideEntry(servedLink(state, 1), entry),
  });
  const entry = (told: Partial<FormEntry> = {}): FormEntry => ({
    now: noon.getTime(),
    accepted: false,
    ...told,
  });
  const accepted = entry({ accepted: true });

  it('is the destination, counted, once the password was found right', () => {
    given(secured).when(entry()).then({ type: 'checkPassword', passwordHash });
    given(secured).when(accepted).then({ type: 'redirect', counted: true });
  });

  it('is one of the clicks of a limited link, with the password if it has one', () => {
    given(limited).when(entry()).then({ type: 'takeClick' });
    given(securedAndLimited).when(entry()).then({ type: 'checkPassword', passwordHash });
    given(securedAndLimited).when(accepted).then({ type: 'takeClick' });
  });

  it('is “no such method” for a link without a password and a limit', () => {
    for (const told of [entry(), accepted]) {
      given().when(told).then({ type: 'noForm' });
      for (const link of [unlimited, ending]) {
        given(link).when(told).then({ type: 'noForm' });
        given(link, expired('spring', 2)).when(told).then({ type: 'noForm' });
      }
    }
  });

  it('is the link’s expiry or block, also when it came during the check', () => {
    for (const told of [entry(), accepted]) {
      given(securedAndEnding)
        .when({ ...told, now: at(60).getTime() })
        .then({ type: 'expired' });
      for (const link of [secured, limited]) {
        given(link, expired('spring', 2)).when(told).then({ type: 'expired' });
        given(link, blocked('spring', 2)).when(told).then({ type: 'blocked' });
      }
    }
  });
});

describe('redirect edge: preview of a link', () => {
  const given = answerSpecification<LinkState, LinkEvent, Date, PreviewDecision>({
    initialState,
    evolve: evolveLink,
    answer: (now, state) => decidePreview(servedLink(state, 1), now.getTime()),
  });
  const told = {
    type: 'preview',
    location: 'https://example.com/spring',
    createdAt: noon.getTime(),
    expiresAt: null,
  } as const;

  it('tells its destination, when it was made, and when it ends', () => {
    given(unlimited).when(noon).then(told);
    given(ending)
      .when(noon)
      .then({ ...told, expiresAt: at(60).getTime() });
  });

  it('hides the destination of a link with a password or a limit', () => {
    for (const link of [limited, secured, securedAndLimited]) {
      given(link)
        .when(noon)
        .then({ ...told, location: null });
    }
  });

  it('tells the link’s expiry or block', () => {
    given().when(noon).then({ type: 'notFound' });
    given(ending).when(at(60)).then({ type: 'expired' });
    given(unlimited, expired('spring', 2)).when(noon).then({ type: 'expired' });
    given(unlimited, blocked('spring', 2)).when(noon).then({ type: 'blocked' });
  });
});

describe('redirect edge: link as the edge keeps it', () => {
  it('is computed once', () => {
    const data = { url: 'https://exämple.com/ä', maxClicks: 3, expiresAt: at(60).toISOString() };
    const state = evolveLink(initialState, created('spring', data, { account: 'acme' }));
    expect(servedLink(state, 1)).to.deep.equal({
      code: 'spring',
      account: 'acme',
      startsAt: null,
      status: 'active',
      location: 'https://xn--exmple-cua.com/%C3%A4',
      createdAt: noon.getTime(),
      expiresAt: at(60).getTime(),
      limited: true,
      passwordHash: null,
      sequence: 1,
    });
  });

  it('has no end and no limit where none was asked for', () => {
    expect(servedLink(evolveLink(initialState, unlimited), 1)).to.include({
      passwordHash: null,
      expiresAt: null,
      limited: false,
    });
  });
});
