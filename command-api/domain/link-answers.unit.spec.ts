import { expect } from 'chai';
import type { BatchResult } from '../../schemas/http/batch.js';
import { created, noon } from '../../schemas/testing/events.js';
import { answerOf, isKept, type AnswerForm, type BatchItem } from './link-answers.js';

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

const batch = (...items: readonly BatchItem[]): AnswerForm => ({
  type: 'batch',
  shortUrlHost,
  items,
});

describe('command API: answer to a request for links', () => {
  it('is the link, with what was asked for and nothing else', () => {
    const form: AnswerForm = { type: 'link', shortUrlHost };
    const url = 'https://example.com/spring';
    const plain = { type: 'created', event: created('spring') } as const;
    expect(answerOf(form, [plain])).to.deep.equal({
      status: 201,
      body: { shortUrl: 'https://example.com/spring', shortCode: 'spring', url, createdAt },
    });
    const asked = { custom: true, maxClicks: 3, expiresAt: '2026-06-01T00:00:00.000Z' };
    const full = { type: 'created', event: created('spring', asked) } as const;
    expect(JSON.stringify(answerOf(form, [full])?.body)).to.equal(
      '{"shortUrl":"https://example.com/spring","shortCode":"spring",' +
        '"url":"https://example.com/spring","alias":"spring",' +
        `"expiresAt":"2026-06-01T00:00:00.000Z","maxClicks":3,"createdAt":"${createdAt}"}`,
    );
  });

  it('is none for a link that was not made', () => {
    const form: AnswerForm = { type: 'link', shortUrlHost };
    expect(answerOf(form, [{ type: 'aliasTaken' }])).to.equal(null);
  });

  it('has a result for each item of a batch, in their order', () => {
    const form = batch({ type: 'refused', result: failure(0, 403) }, ready(1), ready(2), ready(3));
    const answer = answerOf(form, [
      { type: 'linksExhausted' },
      { type: 'created', event: created('spring') },
      { type: 'aliasTaken' },
    ]);
    const link = { shortCode: 'spring', url: 'https://example.com/spring', createdAt };
    expect(answer).to.deep.equal({
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

  it('is kept, except where a retry may make a link and nothing twice', () => {
    const away: BatchItem = { type: 'refused', result: failure(0, 503) };
    const kept = (form: AnswerForm, made: boolean): boolean | null => {
      const outcome = made
        ? ({ type: 'created', event: created('spring') } as const)
        : ({ type: 'aliasTaken' } as const);
      const answer = answerOf(form, [outcome]);
      return answer && isKept(answer);
    };
    expect(kept({ type: 'link', shortUrlHost }, true)).to.equal(true);
    expect(kept(batch(away, ready(1)), true)).to.equal(true);
    expect(kept(batch(away, ready(1)), false)).to.equal(false);
    expect(kept(batch(ready(0)), false)).to.equal(true);
  });
});
