import { noOptions } from '../../../schemas/link-options.js';
import { expect } from 'chai';
import {
  evolveLedgerLink,
  type LedgerLinkState,
  type LedgerLinkEvent,
} from '../../../schemas/folds/ledger-link.js';
import type { BatchResult } from '../../../schemas/http/batch.js';
import { deciderSpecification } from '../../../schemas/testing/decider-specification.js';
import { at, blocked, created, expired, idOf, noon } from '../../../schemas/testing/events.js';
import { createLinkDecider, type NewLink, type ShortenOutcome } from './command.js';
import {
  toResponse,
  responseOfOutline,
  failedItem,
  isStorable,
  outlineOf,
  type ResponseForm,
  type BatchItem,
  type BatchOutline,
} from './view.js';
import { decisionsOf } from '../../testing/decisions.js';

const createLink: NewLink = {
  ...{ custom: true, url: 'https://example.com/spring', expiresIn: 60, maxClicks: 5 },
  ...{ passwordHash: '$argon2id$…', expiresAt: null, startsAt: null, reuse: false },
  ...{ title: null, note: null, tags: null, options: noOptions },
  ...{ keyId: 'key-1', account: 'acme' },
};

describe('command API: creating a link', () => {
  const metadata = { now: noon, id: idOf(1), actor: 'key-1', requestId: 'request-1' };
  const { accepts, refuses } = decisionsOf(
    deciderSpecification<NewLink, LedgerLinkEvent, LedgerLinkState, { readonly type: 'codeTaken' }>(
      {
        initialState: createLinkDecider.initialState,
        evolve: evolveLedgerLink,
        decide: (data, link) =>
          createLinkDecider.decide({ type: 'CreateLink', subject: 'spring', data, metadata }, link),
      },
    ),
  );
  const origin = { id: idOf(1), account: 'acme', actor: 'key-1', correlationId: 'request-1' };
  const withoutLimits = { ...createLink, expiresIn: null, maxClicks: null, passwordHash: null };

  it('assigns a free code', () => {
    const { custom, maxClicks, passwordHash } = createLink;
    const data = { custom, expiresAt: at(60).toISOString(), maxClicks, passwordHash };
    accepts([], createLink, created('spring', data, origin));
  });

  it('sets a start and an end as times', () => {
    const times = { startsAt: at(10).toISOString(), expiresAt: at(90).toISOString() };
    const event = created('spring', { custom: true, ...times }, origin);
    accepts([], { ...withoutLimits, ...times }, event);
  });

  it('refuses a code that was assigned before, also of an expired or blocked link', () => {
    for (const history of [[], [expired('spring', 2)], [blocked('spring', 2)]]) {
      refuses([created('spring'), ...history], createLink, 'codeTaken');
    }
  });
});

describe('command API: response to a request for links', () => {
  const shortUrlHost = 'https://example.com';
  const createdAt = noon.toISOString();
  const [shortUrl, url] = ['https://example.com/spring', 'https://example.com/spring'];
  const link = { shortUrl, shortCode: 'spring', url, createdAt };
  const linkForm: ResponseForm = { type: 'link', shortUrlHost };

  const createdWith = (data: Parameters<typeof created>[1] = {}): ShortenOutcome => ({
    ...{ type: 'created', event: created('spring', data) },
  });

  const failure = (index: number, statusCode: number): BatchResult => ({
    ...{ index, success: false, url: 'https://example.org/', statusCode },
    message: `refused with ${statusCode}`,
  });
  const refusedItem = (index: number): BatchItem => ({
    ...{ type: 'refused', result: failure(index, 403) },
  });
  const ready = (index: number): BatchItem => {
    const taken = failure(index, 400);
    const failures = { domainInactive: taken, aliasTaken: taken };
    return { type: 'ready', failures: { ...failures, linksExhausted: failure(index, 429) } };
  };
  const batch = (...items: readonly BatchItem[]): ResponseForm => ({
    ...{ type: 'batch', shortUrlHost, items },
  });

  it('is the link, with only the fields that were set, in the order of the specification', () => {
    const response = toResponse(linkForm, [createdWith()]);
    expect(response).to.deep.equal({ type: 'created', status: 201, body: link });
    const expiresAt = '2026-06-01T00:00:00.000Z';
    const full = toResponse(linkForm, [createdWith({ custom: true, maxClicks: 3, expiresAt })]);
    const options = { alias: 'spring', expiresAt, maxClicks: 3, createdAt };
    const body = { shortUrl, shortCode: 'spring', url, ...options };
    expect(JSON.stringify(full?.body)).to.equal(JSON.stringify(body));
  });

  it('is the existing link if it is reused', () => {
    const other = { subject: 'spring', url: 'https://example.com/a', createdAt };
    const response = toResponse(linkForm, [{ type: 'reused', link: other }]);
    const body = { ...link, url: other.url };
    expect(response).to.deep.equal({ type: 'reused', status: 200, body });
  });

  it('is null for a refused link', () => {
    expect(toResponse(linkForm, [{ type: 'aliasTaken' }])).to.equal(null);
  });

  it('contains a result for each item of a batch, in their order', () => {
    const response = toResponse(batch(refusedItem(0), ready(1), ready(2), ready(3)), [
      ...([{ type: 'linksExhausted' }, createdWith(), { type: 'aliasTaken' }] as const),
    ]);
    const success = { index: 2, success: true, ...link };
    const results = [failure(0, 403), failure(1, 429), success, failure(3, 400)];
    expect(response).to.deep.equal({ type: 'batch', status: 200, body: { results } });
  });

  it('is stored only if it created a link', () => {
    const taken = { type: 'aliasTaken' } as const;
    for (const [form, outcomes, expected] of [
      [linkForm, [createdWith()], true],
      [batch(refusedItem(0), ready(1)), [createdWith()], true],
      [batch(refusedItem(0), ready(1)), [taken], false],
      [batch(ready(0)), [taken], false],
      [batch(ready(0), ready(1)), [createdWith(), taken], true],
    ] as const) {
      const response = toResponse(form, outcomes);
      expect(response && isStorable(response)).to.equal(expected);
    }
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
