import { expect } from 'chai';
import { accountsPartition } from '../../schemas/read-models/history.js';
import fc from 'fast-check';
import { ownActors } from '../../schemas/decision.js';
import { topicOf, writeEvent } from '../../schemas/events/codec.js';
import { ledgerSource } from '../../schemas/events/envelope.js';
import { withoutSecrets } from '../../schemas/events/redact.js';
import { topics } from '../../schemas/events/topics.js';
import { defaultFeedNames, feedEventNames, typesOfNames } from '../../schemas/feed.js';
import { subjectOf } from '../../schemas/link-subject.js';
import { blocked, idOf, someEvent, spooledVisit } from '../../schemas/testing/events.js';
import { partitionOf } from '../event-log/partition.js';
import { feedPartitions } from './cursor.js';
import { feedEventOf, indexesOf, isVisitsIndex, selects, type FeedFilter } from './filter.js';

const filterOf = (
  names: readonly string[],
  values: Partial<Pick<FeedFilter, 'subject' | 'domain'>> = {},
): FeedFilter => ({
  ...{ account: 'acme', types: typesOfNames(names), subject: null, domain: null },
  ...values,
});

const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);

const links = range(0, topics.links.partitions);
const withoutVisits = [...links, accountsPartition];
const visits = range(accountsPartition + 1, feedPartitions.length);
const others = ['LinkCreated', 'LinkBlocked', 'ApiKeyCreated', 'WebhookDeleted'];

const someHost = fc.domain().map((host) => host.toLowerCase());
const someLink = fc.record({
  domain: fc.option(someHost, { nil: null }),
  code: fc.stringMatching(/^[\w-]{3,50}$/),
});

describe('feed: partitions of a filter', () => {
  const everything = range(0, feedPartitions.length);
  const domain = 'go.example';
  for (const [title, filter, indexes] of [
    ['are those of links and accounts by default', defaultFeedNames, withoutVisits],
    ...others.map((name) => [`are those of links and accounts for ${name}`, [name], withoutVisits]),
    ['are those of visits for their type', ['LinkVisited'], visits],
    ['are all with all types', feedEventNames, everything],
    ['are none without a type', [], []],
    ['are none without a known type', ['LinkFrozen'], []],
  ] as [string, readonly string[], readonly number[]][]) {
    it(title, () => {
      expect(indexesOf(filterOf(filter))).to.deep.equal(indexes);
    });
  }

  it('exclude accounts for a domain', () => {
    expect(indexesOf(filterOf(feedEventNames, { domain }))).to.deep.equal([...links, ...visits]);
    expect(everything.filter(isVisitsIndex)).to.deep.equal(visits);
  });

  it('are those of the link for a subject, one for each topic', () => {
    fc.assert(
      fc.property(someLink, fc.boolean(), (link, withDomain) => {
        const subject = subjectOf(link);
        const partition = partitionOf(subject, topics.links.partitions);
        const values = withDomain ? { subject, domain: link.domain } : { subject };
        expect(indexesOf(filterOf(feedEventNames, values))).to.deep.equal([
          partition,
          accountsPartition + 1 + partition,
        ]);
      }),
    );
  });

  it('contain the partition of every selected event of the log', () => {
    const byTopic = new Map(
      Object.values(topics).map(({ name, partitions }) => [name, partitions]),
    );
    const someFilter = fc
      .tuple(fc.subarray([...feedEventNames]), fc.option(someLink, { nil: null }))
      .map(([names, link]) =>
        filterOf(names, link ? { subject: subjectOf(link), domain: link.domain } : {}),
      );
    fc.assert(
      fc.property(someFilter, someEvent, (filter, event) => {
        const known = filter.subject === null ? event : { ...event, subject: filter.subject };
        const index = feedPartitions.findIndex(
          ({ topic, partition }) =>
            topicOf(known) === topic &&
            partition === partitionOf(known.subject, byTopic.get(topic) ?? 1),
        );
        fc.pre(index >= 0 && (index !== accountsPartition || filter.subject === null));
        if (selects(filter, known)) expect(indexesOf(filter)).to.include(index);
      }),
    );
  });
});

describe('feed: events of a filter', () => {
  const event = (name: string, subject: string) => {
    const [type = ''] = typesOfNames([name]);
    return { type, subject };
  };

  it('have one of its types', () => {
    const filter = filterOf(['LinkCreated', 'LinkVisited']);
    expect(selects(filter, event('LinkCreated', 'abc'))).to.equal(true);
    expect(selects(filter, event('LinkVisited', 'abc'))).to.equal(true);
    expect(selects(filter, event('LinkBlocked', 'abc'))).to.equal(false);
    expect(selects(filterOf([]), event('LinkCreated', 'abc'))).to.equal(false);
    expect(selects(filter, { type: 'linklog.LinkCreated.v99', subject: 'abc' })).to.equal(false);
  });

  it('have exactly its subject', () => {
    const filter = filterOf(feedEventNames, { subject: 'go.example/abc' });
    expect(selects(filter, event('LinkCreated', 'go.example/abc'))).to.equal(true);
    for (const subject of [
      'abc',
      'go.example/abcd',
      'go.example/ab',
      'go.example',
      'GO.example/abc',
    ]) {
      expect(selects(filter, event('LinkCreated', subject)), subject).to.equal(false);
    }
  });

  it('are of links on its domain, not on the default domain or a similar name', () => {
    const filter = filterOf(feedEventNames, { domain: 'go.example' });
    expect(selects(filter, event('LinkVisited', 'go.example/abc'))).to.equal(true);
    expect(selects(filter, event('LinkCreated', 'go.example/---'))).to.equal(true);
    expect(selects(filter, event('LinkCreated', 'go.example/zzz'))).to.equal(true);
    for (const subject of [
      ...['abc', 'go.example', 'go-example', 'go.example.com/abc', 'a.go.example/abc'],
      ...['go.example0', 'go.example-/abc', 'go.exampl/abc'],
    ]) {
      expect(selects(filter, event('LinkCreated', subject)), subject).to.equal(false);
    }
    fc.assert(
      fc.property(someLink, someHost, (link, domain) => {
        const subject = subjectOf(link);
        expect(
          selects(filterOf(['LinkCreated'], { domain }), event('LinkCreated', subject)),
        ).to.equal(link.domain === domain);
        expect(
          selects(filterOf(['LinkCreated'], { domain: '' }), event('LinkCreated', subject)),
        ).to.equal(link.domain === null);
      }),
    );
  });
});

describe('feed: content of an event', () => {
  const stored = someEvent.filter(
    ({ id, source, type }) =>
      source === ledgerSource && id.length === 36 && topicOf({ type }) !== topics.visits.name,
  );

  it('is the event of the log without secrets if a key or Linklog acted', () => {
    const actors = fc.oneof(fc.constantFrom(...Object.values(ownActors)), fc.uuid({ version: 7 }));
    fc.assert(
      fc.property(stored, actors, (event, actor) => {
        const named = { ...event, actor };
        const { json } = feedEventOf(named, 0, 0);
        expect(JSON.parse(json)).to.deep.equal(JSON.parse(JSON.stringify(withoutSecrets(named))));
      }),
      { numRuns: 40 },
    );
  });

  it('hides the names, reasons and requests of operators', () => {
    fc.assert(
      fc.property(stored, fc.stringMatching(/^[!-~]{1,64}$/), (event, actor) => {
        fc.pre(!Object.values<string>(ownActors).includes(actor));
        const { json } = feedEventOf({ ...event, actor, correlationid: 'a request' }, 0, 0);
        const shown = JSON.parse(json) as { actor: string; correlationid?: string; data: object };
        expect(shown.actor).to.equal('operator');
        expect(shown).not.to.have.property('correlationid');
        expect(shown.data).not.to.have.property('reason');
      }),
      { numRuns: 40 },
    );
    const block = blocked('abc', 2, { actor: 'maria', correlationId: 'request-1' });
    expect(feedEventOf(block, 0, 0).json).not.to.match(/maria|request-1|phishing/);
    const byKey = blocked('abc', 2, { actor: idOf('key'), correlationId: 'request-1' });
    expect(JSON.parse(feedEventOf(byKey, 0, 0).json)).to.deep.include({
      actor: idOf('key'),
      correlationid: 'request-1',
      data: { reason: 'phishing' },
    });
  });

  it('is unchanged for visits', () => {
    for (const visit of [spooledVisit('abc', { account: 'acme' }), spooledVisit('a.example/abc')]) {
      const { type, subject, time } = visit;
      expect(feedEventOf(visit, accountsPartition + 1, 4)).to.deep.equal({
        ...{ index: accountsPartition + 1, offset: 4, type, subject, time },
        json: writeEvent(visit),
      });
    }
  });
});
