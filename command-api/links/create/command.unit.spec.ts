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

  it('takes a free code', () => {
    const passwordHash = '$argon2id$…';
    const data = { custom: true, expiresAt: at(60).toISOString(), maxClicks: 5, passwordHash };
    given()
      .when(createLink)
      .then(created('spring', data, origin));
  });

  it('sets no limits where none were asked for', () => {
    given()
      .when({
        ...createLink,
        custom: false,
        expiresIn: null,
        maxClicks: null,
        passwordHash: null,
      })
      .then(created('spring', {}, origin));
  });

  it('takes an end and a start as times', () => {
    const times = { startsAt: at(10).toISOString(), expiresAt: at(90).toISOString() };
    given()
      .when({ ...createLink, ...times, expiresIn: null, maxClicks: null, passwordHash: null })
      .then(created('spring', { custom: true, ...times }, origin));
  });

  it('is refused for a code that was ever taken, whatever became of it', () => {
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
    readonly type: 'create' | 'sweep' | 'block' | 'unblock';
    readonly seconds: number;
  }
  const step: fc.Arbitrary<Step> = fc.record({
    type: fc.constantFrom('create', 'sweep', 'block', 'unblock'),
    // Clocks are set back now and then.
    seconds: fc.integer({ min: -100, max: 300 }),
  });

  it('are numbered without a gap and never go back in time, and one at most is its expiry', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let link: LedgerLinkState = initialState;
        let now = noon;
        const events: LedgerLinkEvent[] = [];
        const happen = (event: LedgerLinkEvent): void => {
          link = evolveLedgerLink(link, event);
          events.push(event);
        };
        for (const { type, seconds } of steps) {
          now = new Date(now.getTime() + seconds * 1_000);
          const id = idOf(events.length);
          if (type === 'create') {
            const decision = createLinkDecider.decide(createAt(createLink, now), link);
            if (decision.type === 'accepted') decision.events.forEach(happen);
          } else if (type === 'sweep') {
            const decision = expireLinkDecider.decide(expireAt(now, id), link);
            if (decision.type === 'accepted') decision.events.forEach(happen);
          } else if (link.status === 'taken') {
            const time = now < link.lastEventAt ? link.lastEventAt : now;
            const change = type === 'block' ? blocked : unblocked;
            happen(change('spring', link.sequence + 1, { time }));
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

describe('command API: answer to a request for links', () => {
  const shortUrlHost = 'https://example.com';
  const createdAt = noon.toISOString();

  const failure = (index: number, statusCode: number): BatchResult => ({
    index,
    success: false,
    url: 'https://example.org/',
    statusCode,
    message: `refused with ${statusCode}`,
  });

  const ready = (index: number): BatchItem => ({
    type: 'ready',
    failures: { aliasTaken: failure(index, 400), linksExhausted: failure(index, 429) },
  });

  const batch = (...items: readonly BatchItem[]): ResponseForm => ({
    type: 'batch',
    shortUrlHost,
    items,
  });

  it('is the link, with what was asked for and nothing else', () => {
    const form: ResponseForm = { type: 'link', shortUrlHost };
    const url = 'https://example.com/spring';
    const plain = { type: 'created', event: created('spring') } as const;
    expect(toResponse(form, [plain])).to.deep.equal({
      type: 'created',
      status: 201,
      body: { shortUrl: 'https://example.com/spring', shortCode: 'spring', url, createdAt },
    });
    const asked = { custom: true, maxClicks: 3, expiresAt: '2026-06-01T00:00:00.000Z' };
    const full = { type: 'created', event: created('spring', asked) } as const;
    expect(JSON.stringify(toResponse(form, [full])?.body)).to.equal(
      '{"shortUrl":"https://example.com/spring","shortCode":"spring",' +
        '"url":"https://example.com/spring","alias":"spring",' +
        `"expiresAt":"2026-06-01T00:00:00.000Z","maxClicks":3,"createdAt":"${createdAt}"}`,
    );
  });

  it('is the existing link where one is reused', () => {
    const form: ResponseForm = { type: 'link', shortUrlHost };
    const link = { code: 'spring', url: 'https://example.com/a', createdAt };
    expect(toResponse(form, [{ type: 'reused', link }])).to.deep.equal({
      ...{ type: 'reused', status: 200 },
      body: {
        ...{ shortUrl: 'https://example.com/spring', shortCode: 'spring' },
        ...{ url: link.url, createdAt },
      },
    });
  });

  it('is none for a link that was not made', () => {
    const form: ResponseForm = { type: 'link', shortUrlHost };
    expect(toResponse(form, [{ type: 'aliasTaken' }])).to.equal(null);
  });

  it('has a result for each item of a batch, in their order', () => {
    const form = batch({ type: 'refused', result: failure(0, 403) }, ready(1), ready(2), ready(3));
    const answer = toResponse(form, [
      { type: 'linksExhausted' },
      { type: 'created', event: created('spring') },
      { type: 'aliasTaken' },
    ]);
    const link = { shortCode: 'spring', url: 'https://example.com/spring', createdAt };
    expect(answer).to.deep.equal({
      type: 'batch',
      status: 200,
      body: {
        results: [
          failure(0, 403),
          failure(1, 429),
          { index: 2, success: true, shortUrl: 'https://example.com/spring', ...link },
          failure(3, 400),
        ],
      },
    });
  });

  it('is stored only if it created a link', () => {
    const away: BatchItem = { type: 'refused', result: failure(0, 503) };
    const kept = (form: ResponseForm, made: boolean): boolean | null => {
      const outcome = made
        ? ({ type: 'created', event: created('spring') } as const)
        : ({ type: 'aliasTaken' } as const);
      const others = Array.from({ length: 1 }, () => ({ type: 'aliasTaken' }) as const);
      const answer = toResponse(form, [outcome, ...others]);
      return answer && isStorable(answer);
    };
    expect(kept({ type: 'link', shortUrlHost }, true)).to.equal(true);
    expect(kept(batch(away, ready(1)), true)).to.equal(true);
    expect(kept(batch(away, ready(1)), false)).to.equal(false);
    expect(kept(batch(ready(0)), false)).to.equal(false);
    expect(kept(batch(ready(0), ready(1)), true)).to.equal(true);
  });

  it('of a batch is made again from its outline, the request and the events', () => {
    const items = [{ url: 'no' }, { url: 5 }, null, { url: 'https://example.com/spring' }];
    const events = new Map([['spring', created('spring', { custom: true, note: 'ü' })]]);
    const planFailure = { statusCode: 403, feature: 'customAlias', message: 'a "plan"' };
    const results = [
      failedItem(0, items[0], { statusCode: 400, message: 'Please provide a valid URL' }),
      failedItem(1, items[1], planFailure),
      failedItem(2, items[2], { statusCode: 503, message: 'Later' }),
    ].map((result): BatchItem => ({ type: 'refused', result }));
    const event = events.get('spring');
    if (!event) throw new Error('There is an event');
    const answer = toResponse(batch(...results, ready(3)), [{ type: 'created', event }]);
    if (answer?.type !== 'batch') throw new Error('A batch has an answer');
    const outline = JSON.parse(JSON.stringify(outlineOf(answer.body))) as BatchOutline;
    expect(JSON.stringify(outline)).not.to.include('https://').and.not.to.include('"no"');
    const made = responseOfOutline(outline, items, events, shortUrlHost);
    expect(JSON.stringify(made)).to.equal(JSON.stringify(answer.body));
    expect(responseOfOutline(outline, items, new Map(), shortUrlHost)).to.equal(null);
  });
});
