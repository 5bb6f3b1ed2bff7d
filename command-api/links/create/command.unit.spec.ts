import { expect } from 'chai';
import fc from 'fast-check';
import {
  evolveLedgerLink,
  initialState,
  type LedgerLinkState,
  type LedgerLinkEvent,
} from '../../../schemas/folds/ledger-link.js';
import type { BatchResult } from '../../../schemas/http/batch.js';
import { deciderSpecification } from '../../../schemas/testing/decider-specification.js';
import {
  at,
  blocked,
  created,
  expired,
  idOf,
  noon,
  unblocked,
} from '../../../schemas/testing/events.js';
import {
  toResponse,
  responseOfOutline,
  createLinkDecider,
  failedItem,
  isStorable,
  outlineOf,
  type ResponseForm,
  type BatchItem,
  type BatchOutline,
  type CreateLink,
  type NewLink,
  type ShortenOutcome,
} from './command.js';
import { expireLinkDecider, type ExpireLink } from '../expire/command.js';

const createLink: NewLink = {
  custom: true,
  url: 'https://example.com/spring',
  expiresIn: 60,
  expiresAt: null,
  startsAt: null,
  maxClicks: 5,
  passwordHash: '$argon2id$…',
  title: null,
  note: null,
  tags: null,
  rules: null,
  forwardQuery: false,
  reuse: false,
  keyId: 'key-1',
  account: 'acme',
};

const createAt = (data: NewLink, now: Date): CreateLink => ({
  ...{ type: 'CreateLink', subject: 'spring', data },
  metadata: { now, id: idOf(1), actor: 'key-1', requestId: 'request-1' },
});

describe('command API: creating a link', () => {
  const given = deciderSpecification<
    NewLink,
    LedgerLinkEvent,
    LedgerLinkState,
    { readonly type: 'codeTaken' }
  >({
    initialState: createLinkDecider.initialState,
    evolve: evolveLedgerLink,
    decide: (data: NewLink, link) => createLinkDecider.decide(createAt(data, noon), link),
  });
  const origin = {
    id: idOf(1),
    account: 'acme',
    actor: 'key-1',
    correlationId: 'request-1',
  };

  const withoutLimits = { ...createLink, expiresIn: null, maxClicks: null, passwordHash: null };

  it('assigns a free code', () => {
    const passwordHash = '$argon2id$…';
    const data = { custom: true, expiresAt: at(60).toISOString(), maxClicks: 5, passwordHash };
    given()
      .when(createLink)
      .then(created('spring', data, origin));
  });

  it('sets no limits by default', () => {
    given()
      .when({ ...withoutLimits, custom: false })
      .then(created('spring', {}, origin));
  });

  it('sets a start and an end as times', () => {
    const times = { startsAt: at(10).toISOString(), expiresAt: at(90).toISOString() };
    given()
      .when({ ...withoutLimits, ...times })
      .then(created('spring', { custom: true, ...times }, origin));
  });

  it('refuses a code that was assigned before, also of an expired or blocked link', () => {
    const histories = [[], [expired('spring', 2)], [blocked('spring', 2)]];
    for (const history of histories) {
      given(created('spring'), ...history)
        .when(createLink)
        .thenRefused('codeTaken');
    }
  });
});

const expireAt = (now: Date, id: string): ExpireLink => ({
  ...{ type: 'ExpireLink', subject: 'spring', data: null },
  metadata: { now, id, actor: 'system', requestId: null },
});

describe('command API: events of a link', () => {
  interface Step {
    readonly type: 'create' | 'expire' | 'block' | 'unblock';
    readonly seconds: number;
  }
  const step: fc.Arbitrary<Step> = fc.record({
    type: fc.constantFrom('create', 'expire', 'block', 'unblock'),
    // Clocks can go back.
    seconds: fc.integer({ min: -100, max: 300 }),
  });

  it('have consecutive sequences and ascending times, and at most one is an expiry', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let link: LedgerLinkState = initialState;
        let now = noon;
        const events: LedgerLinkEvent[] = [];
        const record = (event: LedgerLinkEvent): void => {
          link = evolveLedgerLink(link, event);
          events.push(event);
        };
        for (const { type, seconds } of steps) {
          now = new Date(now.getTime() + seconds * 1_000);
          const id = idOf(events.length);
          if (type === 'create' || type === 'expire') {
            const decision =
              type === 'create'
                ? createLinkDecider.decide(createAt(createLink, now), link)
                : expireLinkDecider.decide(expireAt(now, id), link);
            if (decision.type === 'accepted') decision.events.forEach(record);
          } else if (link.status === 'taken') {
            const time = now < link.lastEventAt ? link.lastEventAt : now;
            const change = type === 'block' ? blocked : unblocked;
            record(change('spring', link.sequence + 1, { time }));
          }
        }
        expect(events.map(({ sequence }) => sequence)).to.deep.equal(
          events.map((_, index) => index + 1),
        );
        const times = events.map(({ time }) => time);
        expect(times).to.deep.equal([...times].sort());
        const expiries = events.filter(({ type }) => type === 'linklog.LinkExpired.v1');
        expect(expiries.length).to.be.at.most(1);
      }),
    );
  });
});

describe('command API: response to a request for links', () => {
  const shortUrlHost = 'https://example.com';
  const createdAt = noon.toISOString();
  const shortUrl = 'https://example.com/spring';
  const linkForm: ResponseForm = { type: 'link', shortUrlHost };

  const createdWith = (data: Parameters<typeof created>[1] = {}): ShortenOutcome => ({
    type: 'created',
    event: created('spring', data),
  });

  const failure = (index: number, statusCode: number): BatchResult => ({
    index,
    success: false,
    url: 'https://example.org/',
    statusCode,
    message: `refused with ${statusCode}`,
  });

  const ready = (index: number): BatchItem => ({
    type: 'ready',
    failures: {
      domainInactive: failure(index, 400),
      aliasTaken: failure(index, 400),
      linksExhausted: failure(index, 429),
    },
  });

  const batch = (...items: readonly BatchItem[]): ResponseForm => ({
    type: 'batch',
    shortUrlHost,
    items,
  });

  it('is the link, with only the fields that were set', () => {
    const url = 'https://example.com/spring';
    expect(toResponse(linkForm, [createdWith()])).to.deep.equal({
      type: 'created',
      status: 201,
      body: { shortUrl, shortCode: 'spring', url, createdAt },
    });
    const expiresAt = '2026-06-01T00:00:00.000Z';
    const response = toResponse(linkForm, [createdWith({ custom: true, maxClicks: 3, expiresAt })]);
    expect(JSON.stringify(response?.body)).to.equal(
      '{"shortUrl":"https://example.com/spring","shortCode":"spring",' +
        '"url":"https://example.com/spring","alias":"spring",' +
        `"expiresAt":"2026-06-01T00:00:00.000Z","maxClicks":3,"createdAt":"${createdAt}"}`,
    );
  });

  it('is the existing link if it is reused', () => {
    const url = 'https://example.com/a';
    const link = { subject: 'spring', url, createdAt };
    expect(toResponse(linkForm, [{ type: 'reused', link }])).to.deep.equal({
      type: 'reused',
      status: 200,
      body: { shortUrl, shortCode: 'spring', url, createdAt },
    });
  });

  it('is null for a refused link', () => {
    expect(toResponse(linkForm, [{ type: 'aliasTaken' }])).to.equal(null);
  });

  it('contains a result for each item of a batch, in their order', () => {
    const form = batch({ type: 'refused', result: failure(0, 403) }, ready(1), ready(2), ready(3));
    const response = toResponse(form, [
      { type: 'linksExhausted' },
      createdWith(),
      { type: 'aliasTaken' },
    ]);
    const link = { shortUrl, shortCode: 'spring', url: 'https://example.com/spring', createdAt };
    expect(response).to.deep.equal({
      type: 'batch',
      status: 200,
      body: {
        results: [
          failure(0, 403),
          failure(1, 429),
          { index: 2, success: true, ...link },
          failure(3, 400),
        ],
      },
    });
  });

  it('is stored only if it created a link', () => {
    const refusedItem: BatchItem = { type: 'refused', result: failure(0, 503) };
    const stored = (form: ResponseForm, ...outcomes: readonly ShortenOutcome[]) => {
      const response = toResponse(form, outcomes);
      return response && isStorable(response);
    };
    expect(stored(linkForm, createdWith())).to.equal(true);
    expect(stored(batch(refusedItem, ready(1)), createdWith())).to.equal(true);
    expect(stored(batch(refusedItem, ready(1)), { type: 'aliasTaken' })).to.equal(false);
    expect(stored(batch(ready(0)), { type: 'aliasTaken' })).to.equal(false);
    expect(stored(batch(ready(0), ready(1)), createdWith(), { type: 'aliasTaken' })).to.equal(true);
  });

  it('to a batch is rebuilt from its outline, the request and the events', () => {
    const items = [{ url: 'no' }, { url: 5 }, null, { url: 'https://example.com/spring' }];
    const event = created('spring', { custom: true, note: 'ü' });
    const events = new Map([['spring', event]]);
    const failures = [
      { statusCode: 400, message: 'Please provide a valid URL' },
      { statusCode: 403, feature: 'customAlias', message: 'a "plan"' },
      { statusCode: 503, message: 'Later' },
    ].map((fields, index): BatchItem => {
      return { type: 'refused', result: failedItem(index, items[index], fields) };
    });
    const response = toResponse(batch(...failures, ready(3)), [{ type: 'created', event }]);
    if (response?.type !== 'batch') throw new Error(`toResponse() returned ${response?.type}`);
    const outline = JSON.parse(JSON.stringify(outlineOf(response.body))) as BatchOutline;
    expect(JSON.stringify(outline)).not.to.include('https://').and.not.to.include('"no"');
    const rebuilt = responseOfOutline(outline, items, events, shortUrlHost);
    expect(JSON.stringify(rebuilt)).to.equal(JSON.stringify(response.body));
    expect(responseOfOutline(outline, items, new Map(), shortUrlHost)).to.equal(null);
  });
});
