import { expect } from 'chai';
import { parquetReadObjects } from 'hyparquet';
import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { topicOf, writeEvent } from '../../../../schemas/events/codec.js';
import { topicNames, topics } from '../../../../schemas/events/topics.js';
import {
  at,
  blocked,
  created,
  expired,
  keyCreated,
  keyHash,
  maintenanceSwitched,
  spooledVisit,
} from '../../../../schemas/testing/events.js';
import type { EventLog } from '../../../event-log/port.js';
import { databaseFixture, ledgerFixture } from '../../../test/support/fixtures.js';
import { rejection } from '../../../test/support/waiting.js';
import { readLinkEvents, tallyVisits } from '../history/command.js';
import { formatOf, type FormatName } from './formats.js';
import type { PlacedEvent } from './order.js';
import { replay, type ReplayOptions, type UnreadableRecord } from './replay.js';

const visitsCount = 2_500;
const passwordHash = '$argon2id$v=19$a-secret';

const seen = (code: string, sequence: number, seconds: number, bot = false) =>
  spooledVisit(code, { sequence, time: at(seconds), account: 'acme', bot });

const many = Array.from({ length: visitsCount }, (_, index) =>
  seen('spring', index + 1, 10 + index * 60, index % 10 === 0),
);
const late = seen('spring', visitsCount + 1, 11);
const history: readonly LinklogEvent[] = [
  keyCreated('key-1', {}, { time: at(0), actor: 'alice' }),
  maintenanceSwitched(1, false, { time: at(0), actor: 'alice' }),
  created('spring', { passwordHash }, { time: at(1), actor: 'key-1', correlationId: '=r-1' }),
  created('autumn', {}, { time: at(1), actor: 'key-1' }),
  ...many,
  late,
  blocked('spring', 2, { time: at(20_000), actor: 'bob, "the" operator' }),
  expired('spring', 3, 'time', { time: at(1_000_000) }),
];
/** Sent again by a sender that received no acknowledgement. */
const repeats: readonly LinklogEvent[] = [...many.slice(-3), late, blocked('spring', 2)];

const fill = async (log: EventLog): Promise<void> => {
  for (const topic of topicNames) {
    const events = [...history, ...repeats].filter((event) => topicOf(event) === topic);
    await log.append(
      topic,
      events.map((event) => ({ key: event.subject, value: writeEvent(event) })),
    );
  }
  await log.append(topics.links.name, [{ key: 'spring', value: '{"passwordHash":"a-secret"}' }]);
};

const bytesOf = async (
  events: AsyncIterable<readonly PlacedEvent[]>,
  name: FormatName,
): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  await formatOf(name, true)(events, (chunk) => {
    chunks.push(chunk);
    return Promise.resolve();
  });
  return Buffer.concat(chunks);
};

describe('audit: replay', () => {
  const node = ledgerFixture(databaseFixture('replay'));

  before('fill the log', () => fill(node.log));

  const start = (
    log: EventLog,
    options: Partial<ReplayOptions>,
    unreadable: UnreadableRecord[] = [],
  ) => replay({ log, filter: {}, onUnreadable: (record) => unreadable.push(record), ...options });

  const eventsOf = async (
    log: EventLog,
    options: Partial<ReplayOptions> = {},
  ): Promise<PlacedEvent[]> => {
    const events: PlacedEvent[] = [];
    for await (const chunk of start(log, options)) events.push(...chunk);
    return events;
  };

  it('is complete, in order, without secrets and repeats', async () => {
    const unreadable: UnreadableRecord[] = [];
    const text = await bytesOf(start(node.log, {}, unreadable), 'jsonl');
    const lines = text.toString().trimEnd().split('\n');
    const events = lines.map((line) => JSON.parse(line) as LinklogEvent & Record<string, unknown>);
    // The late visit follows all earlier records of its partition.
    const inOrder = [
      ...['linklog.ApiKeyCreated.v3', 'linklog.MaintenanceSwitched.v1'],
      ...Array.from({ length: 2 }, () => 'linklog.LinkCreated.v4'),
    ];
    expect(events.slice(0, 4).map(({ type }) => type)).to.deep.equal(inOrder);
    expect(events.map(({ id }) => id)).to.have.members(history.map(({ id }) => id));
    expect(events).to.have.length(history.length);
    const times = events.filter(({ id }) => id !== late.id).map(({ time }) => time);
    expect(times).to.deep.equal([...times].sort());
    const [before] = events.slice(events.findIndex(({ id }) => id === late.id) - 1);
    expect(before?.id).to.equal(many.at(-1)?.id);
    expect(events[2]).to.include({ topic: 'linklog.links.v1', offset: 0 });

    expect(text.toString()).to.not.include(passwordHash).and.not.include(keyHash);
    expect(unreadable.map(({ topic, offset }) => [topic, offset])).to.have.length(1);
    expect(JSON.stringify(unreadable)).to.not.include('a-secret');
  });

  it('includes repeats on request', async () => {
    expect(await eventsOf(node.log, { keepRepeats: true })).to.have.length(
      history.length + repeats.length,
    );
  });

  it('reads only the partitions of a code', async () => {
    const read: string[] = [];
    const log: EventLog = {
      ...node.log,
      read(topic, partition, from, to) {
        read.push(topic);
        return node.log.read(topic, partition, from, to);
      },
    };
    const events = await eventsOf(log, { filter: { subject: 'spring' } });
    expect(read).to.have.members([topics.links.name, topics.visits.name]);
    expect(events.map(({ event }) => event.subject)).to.deep.equal(
      Array.from({ length: visitsCount + 4 }, () => 'spring'),
    );
  });

  it('writes the same events as CSV and Parquet', async () => {
    const events = await eventsOf(node.log);
    const file = await bytesOf(start(node.log, {}), 'parquet');
    const rows = await parquetReadObjects({
      file: new Uint8Array(file).buffer,
      columns: ['topic', 'offset', 'time', 'id', 'actor', 'sequence', 'data'],
    });
    expect(rows).to.deep.equal(
      events.map(({ topic, offset, event }) => ({
        topic,
        offset: BigInt(offset),
        time: new Date(event.time),
        id: event.id,
        actor: event.actor ?? null,
        sequence: BigInt(event.sequence),
        data: JSON.stringify(
          Object.fromEntries(Object.entries(event.data).filter(([name]) => !/hash$/i.test(name))),
        ),
      })),
    );
    const csv = (
      await bytesOf(start(node.log, { filter: { subject: 'spring' } }), 'csv')
    ).toString();
    const lines = csv.trimEnd().split('\n');
    expect(lines).to.have.length(1 + visitsCount + 4);
    expect(lines[0]).to.match(/^topic,partition,offset,time,type,subject,account,actor,/);
    expect(csv).to.include(',"bob, ""the"" operator",');
    expect(csv).to.include(`,key-1,'=r-1,,,/linklog/ledger,1,`);
    expect(csv).to.include('"{""url"":""https://example.com/spring"",""custom"":false,');
    expect(csv).to.not.include(passwordHash);
  });

  it('of a link contains its changes, and its visits counted by day', async () => {
    const visits = tallyVisits();
    const types: string[] = [];
    const onUnreadable = (): void => undefined;
    for await (const chunk of readLinkEvents('spring', { log: node.log, onUnreadable })) {
      for (const event of chunk) {
        if (event.type === 'linklog.LinkVisited.v4') visits.add(event);
        else types.push(event.type);
      }
    }
    expect(types).to.deep.equal([
      ...['linklog.LinkCreated.v4', 'linklog.LinkBlocked.v1', 'linklog.LinkExpired.v1'],
    ]);
    const { days, ...rest } = visits.summary();
    const [bots, first, last] = [visitsCount / 10, many[0]?.time, many.at(-1)?.time];
    expect(rest).to.deep.equal({ clicks: visitsCount + 1 - bots, bots, first, last });
    // One visit a minute from noon on.
    expect(days).to.have.length(3);
    expect(days.slice(0, 2)).to.deep.equal([
      { day: '2026-05-20', clicks: 720 - 72 + 1, bots: 72 },
      { day: '2026-05-21', clicks: 1_440 - 144, bots: 144 },
    ]);
  });

  it('follows new events', async () => {
    const { log } = node;
    const code = 'followed';
    const newEvents = [created(code), blocked(code, 2)];
    const append = (event: LinklogEvent): Promise<void> =>
      log.append(topicOf(event), [{ key: event.subject, value: writeEvent(event) }]);
    const [first, second] = newEvents;
    if (!first || !second) throw new Error('expected two events');

    const stop = new AbortController();
    const followed: string[] = [];
    const following = (async () => {
      const options = { follow: true, filter: { subject: code }, signal: stop.signal };
      for await (const chunk of start(log, options)) {
        for (const { event } of chunk) {
          followed.push(event.type);
          // A repeat of an event of an earlier round is dropped.
          if (event.type === first.type) await append(first).then(() => append(second));
          else stop.abort();
        }
      }
    })();
    await append(first);
    await rejection(following);
    expect(followed).to.deep.equal(newEvents.map(({ type }) => type));
  });

  it('ends at the end that the log had at the start', async () => {
    const code = 'while-reading';
    let appended: Promise<void> | undefined;
    const events = await eventsOf(node.log, {
      progress: (_done, total) => {
        appended ??= node.log.append(topics.links.name, [
          { key: code, value: writeEvent(created(code)) },
        ]);
        expect(total).to.be.greaterThan(0);
      },
    });
    await appended;
    expect(events.some(({ event }) => event.subject === code)).to.be.false;
    expect(await eventsOf(node.log, { filter: { subject: code } })).to.have.length(1);
  });
});
