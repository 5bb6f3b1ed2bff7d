import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { startArchive } from '../../../projectors/log/archive/archive.js';
import { streamOf } from '../../../projectors/log/archive/archiver.js';
import { openArchiveStore } from '../../../projectors/log/archive/store.js';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import { topicOf } from '../../../schemas/events/codec.js';
import {
  blocked,
  created,
  domainClaimed,
  edited,
  firstVisitRecordOf,
  keyCreated,
  maintenanceSwitched,
  metered,
  overrideGranted,
  recordOf,
  spooledVisit,
  unblocked,
  webhookCreated,
} from '../../../schemas/testing/events.js';
import { createLogger } from '../../platform/logging.js';
import { runLinklogCli } from '../../test/support/command-line.js';
import type { TestDatabase } from '../../test/support/database.js';
import {
  startEventStoreDouble,
  type EventStoreDouble,
} from '../../test/support/eventstore/double.js';
import { Streams, type ProposedEvent } from '../../test/support/eventstore/streams.js';
import { databaseFixture } from '../../test/support/fixtures.js';
import { openTestLog } from '../../test/support/node.js';
import { eventually } from '../../test/support/waiting.js';
import type { ArchiveDifference } from './compare.js';

const logger = createLogger('silent');

const visits = (code: string, ...sequences: readonly number[]) =>
  sequences.map((sequence) => spooledVisit(code, { sequence }));

const history: readonly LinklogEvent[] = [
  ...[
    created('a'),
    blocked('a', 2),
    unblocked('a', 3),
    edited('a', 4, { url: 'https://b.example/' }),
  ],
  ...[created('b'), ...visits('a', 1, 2, 3, 4, 5, 6), ...visits('b', 7, 8)],
  ...[keyCreated('k'), metered('k', 1, 7), overrideGranted('docs', 1, 'acme')],
  ...[domainClaimed('go.example.com', 1, 'token'), webhookCreated('w')],
  ...[maintenanceSwitched(1, true), maintenanceSwitched(2, false)],
];

type Content = Record<string, ProposedEvent[]>;

interface Verified extends Record<string, unknown> {
  readonly differences: readonly ArchiveDifference[];
}

describe('archive: linklog archive', () => {
  const database = databaseFixture('verified');
  let double: EventStoreDouble;

  const appendTo = async (
    { pool, url }: TestDatabase,
    records: readonly (readonly [LinklogEvent, ReturnType<typeof recordOf>])[],
  ): Promise<void> => {
    const { log } = await openTestLog({ pool, url, logger });
    for (const [event, record] of records) await log.append(topicOf(event), [record]);
    await log.close();
  };

  const append = (target: TestDatabase, events: readonly LinklogEvent[]): Promise<void> =>
    appendTo(
      target,
      events.map((event) => [event, recordOf(event)]),
    );

  /** Archives the log up to its end. Resolves with the state of the archive. */
  const archive = async ({ pool, url }: TestDatabase): Promise<string> => {
    const { log } = await openTestLog({ pool, url, logger });
    const running = startArchive({ pool, log, store: openArchiveStore(double.url), logger });
    const check = (): Promise<string> =>
      running.check().then(
        () => 'up',
        (error: unknown) => (error as { readonly code: string }).code,
      );
    let state = '';
    await eventually('the archive has no lag, or is of another log', async () => {
      state = await check();
      return state === 'ARCHIVE_FOREIGN' || (await running.status()).lag === 0;
    });
    await running.stop();
    await log.close();
    return state;
  };

  const linklog = (target: TestDatabase, ...args: readonly string[]) =>
    runLinklogCli(['archive', ...args], { DATABASE_URL: target.url, EVENTSTORE_URL: double.url });

  const verify = async (...args: readonly string[]): Promise<Verified> => {
    const { exitCode, stdout, stderr } = await linklog(database, 'verify', '--json', ...args);
    expect(stderr).to.equal('');
    const { seconds, ...found } = JSON.parse(stdout) as Verified;
    expect(seconds).to.be.a('number');
    return { exitCode, ...found };
  };

  const lineOf = ({ kind, stream, revision, fields }: ArchiveDifference): string =>
    [kind, `${stream}@${revision}`, ...fields].join(' ');

  before(() => append(database, history));
  before(async () => {
    double = await startEventStoreDouble();
    await archive(database);
  });
  after(() => {
    double.kill();
  });

  it('verify compares all events, or one stream', async () => {
    for (const [events, ...args] of [
      [history.length] as const,
      [6, '--stream', 'visits-a'] as const,
    ]) {
      expect(await verify(...args)).to.deep.equal({
        ...{ exitCode: 0, events, equal: events, removed: 0, waiting: 0 },
        ...{ missing: 0, foreign: 0, different: 0, differences: [] },
      });
    }
    const { exitCode, stdout } = await linklog(database, 'verify');
    expect(exitCode).to.equal(0);
    expect(stdout).to.match(
      /^Compared in \d+\.\d\d s: 20 events, 20 equal, 0 removed, 0 waiting, 0 missing, 0 foreign, 0 different\n$/,
    );
  });

  describe('given a manipulated archive', () => {
    const changeJson = (
      event: ProposedEvent | undefined,
      part: 'data' | 'metadata',
      change: object,
    ): unknown => {
      if (!event) throw new Error('there is no event to change');
      const json = JSON.parse(Buffer.from(event[part], 'base64').toString()) as object;
      const text = JSON.stringify({ ...json, ...change });
      return Object.assign(event, { [part]: Buffer.from(text).toString('base64') });
    };
    const foreign = (events: readonly ProposedEvent[]): readonly ProposedEvent[] =>
      events.slice(0, 1).map((event) => ({ ...event, id: uuidv7() }));
    const order = (stream: string, ...revisions: readonly number[]): readonly string[] =>
      revisions.map((revision) => `different ${stream}@${revision} order`);

    type Manipulate = (
      content: Content & Record<'link-a' | 'visits-a' | 'platform', ProposedEvent[]>,
    ) => unknown;
    const manipulations: Readonly<Record<string, readonly [Manipulate, readonly string[]]>> = {
      'the last event of a stream is missing': [(c) => c['link-a'].pop(), ['missing link-a@3']],
      'one in the middle is missing': [
        (c) => c['visits-a'].splice(3, 1),
        ['missing visits-a@3', ...order('visits-a', 4, 5)],
      ],
      'a stream is missing': [(c) => delete c['key-k'], ['missing key-k@0']],
      'an event is there twice': [
        (c) => c['link-a'].push(...c['link-a'].slice(3)),
        ['foreign link-a@4'],
      ],
      'a foreign event is in the middle': [
        (c) => c['link-a'].splice(2, 0, ...foreign(c['link-a'])),
        [...order('link-a', 2), 'foreign link-a@2', ...order('link-a', 3)],
      ],
      'a foreign event replaces one': [
        (c) => c.platform.splice(0, 1, ...foreign(c.platform)),
        ['foreign platform@0', 'missing platform@0'],
      ],
      'a stream is foreign': [
        (c) => (c['link-c'] = [...foreign(c['link-a'])]),
        ['foreign link-c@0'],
      ],
      'data differ': [
        (c) => changeJson(c['link-a'][0], 'data', { url: 'https://other.example/' }),
        ['different link-a@0 data'],
      ],
      'the time differs by a millisecond': [
        (c) => changeJson(c['visits-a'][2], 'metadata', { time: '2026-05-20T12:00:00.001Z' }),
        ['different visits-a@2 metadata'],
      ],
      'the type differs': [
        (c) => Object.assign(c['link-a'][1] ?? {}, { type: 'linklog.LinkUnblocked.v1' }),
        ['different link-a@1 type'],
      ],
      'two neighbours are swapped': [
        (c) => c['visits-a'].splice(1, 2, ...c['visits-a'].slice(1, 3).reverse()),
        order('visits-a', 1, 2),
      ],
      'an event is in another stream': [
        (c) => c['link-b']?.push(...c['link-a'].splice(3)),
        ['different link-a@3 stream'],
      ],
      'a stream has another name': [
        (c) => {
          c['domain-other.example'] = c['domain-go.example.com'] ?? [];
          delete c['domain-go.example.com'];
        },
        ['different domain-go.example.com@0 stream'],
      ],
    };

    for (const [title, [manipulate, expected]] of Object.entries(manipulations)) {
      it(`verify finds that ${title}`, async () => {
        const original = double;
        const streams = new Streams();
        double = await startEventStoreDouble({ streams });
        try {
          const content = Object.fromEntries(
            original.streams.names().map((name) => {
              const events = original.streams.events(name) ?? [];
              return [name, events.map((event): ProposedEvent => ({ ...event }))];
            }),
          ) as Parameters<Manipulate>[0];
          manipulate(content);
          for (const [name, events] of Object.entries(content)) {
            streams.append(name, 'no_stream', events);
          }
          const { exitCode, differences } = await verify();
          expect(differences.map(lineOf)).to.deep.equal(expected);
          expect(exitCode).to.equal(1);
        } finally {
          double.kill();
          double = original;
        }
      });
    }
  });

  describe('given another log', () => {
    const restored = databaseFixture('restored');

    it('adopt continues the archive if the log has all its events', async () => {
      const events = [...history, blocked('b', 2)];
      await append(restored, events);
      expect(await archive(restored)).to.equal('ARCHIVE_FOREIGN');
      const { exitCode, stdout } = await linklog(restored, 'adopt');
      expect(stdout).to.match(/ 20 equal, .* 1 waiting, .*\nThe archive belongs to this log\n$/);
      expect(exitCode).to.equal(0);
      expect(await archive(restored)).to.equal('up');
      const stream = streamOf(created('b'));
      expect(double.streams.events(stream)).to.have.length(2);
      expect(await archive(database)).to.equal('ARCHIVE_FOREIGN');
    });

    it('adopt lists the events that the log lacks', async () => {
      const { exitCode, stdout } = await linklog(database, 'adopt', '--json');
      const { isAdopted, differences } = JSON.parse(stdout) as Verified;
      expect({ exitCode, isAdopted }).to.deep.equal({ exitCode: 1, isAdopted: false });
      expect(differences.map(lineOf)).to.deep.equal(['foreign link-b@1']);
      expect(await archive(database)).to.equal('ARCHIVE_FOREIGN');
    });
  });

  describe('given a server with other content', () => {
    const own = databaseFixture('waiting');

    const verifyOwn = async (...args: readonly string[]) => {
      const { exitCode, stdout, stderr } = await linklog(own, 'verify', '--json', ...args);
      expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });
      const { equal: same, removed, waiting } = JSON.parse(stdout) as Verified;
      return { equal: same, removed, waiting };
    };

    before(async () => {
      double.kill();
      double = await startEventStoreDouble();
      await append(own, history);
      await archive(own);
    });

    it('verify counts what is not copied yet, and ignores other streams', async () => {
      await append(own, [...visits('c', 9, 10), created('c')]);
      const event = { id: uuidv7(), type: 'Ordered', contentType: 'application/json' };
      double.streams.append('order-1', 'no_stream', [{ ...event, data: 'e30=', metadata: '' }]);
      expect(await verifyOwn()).to.deep.equal({ equal: 20, removed: 0, waiting: 3 });
      expect(await verifyOwn('--stream', 'visits-c')).to.include({ waiting: 2 });
      await archive(own);
      expect(await verifyOwn()).to.deep.equal({ equal: 23, removed: 0, waiting: 0 });
    });

    it('verify accepts events that an earlier version of Linklog has copied', async () => {
      const [visit] = visits('d', 11);
      if (!visit) throw new Error('there is no visit');
      await appendTo(own, [[visit, firstVisitRecordOf(visit)]]);
      await archive(own);
      const [stored] = double.streams.events('visits-d') ?? [];
      if (!stored) throw new Error('the visit is not archived');
      const { click, bot } = visit.data;
      const data = Buffer.from(JSON.stringify({ click, bot })).toString('base64');
      double.streams.cut('visits-d', 0);
      double.streams.append('visits-d', 'no_stream', [
        { ...stored, type: 'linklog.LinkVisited.v1', data },
      ]);
      expect(await verifyOwn()).to.deep.equal({ equal: 24, removed: 0, waiting: 0 });
    });

    it('verify counts what retention and deletions have removed, before and after a scavenge', async () => {
      const { streams } = double;
      streams.retain('visits-a', { $maxCount: 2 });
      streams.retain('link-a', { $tb: 1 });
      streams.retain('platform', { $maxAge: 3_600 });
      streams.elapse(7_200);
      streams.softDelete('link-b');
      streams.tombstone('visits-b');
      const removed = { equal: 24 - 4 - 1 - 2 - 1 - 2, removed: 10, waiting: 0 };
      expect(await verifyOwn()).to.deep.equal(removed);
      expect(await verifyOwn('--stream', 'visits-a')).to.include({ equal: 2, removed: 4 });
      expect(await verifyOwn('--stream', 'link-b')).to.include({ equal: 0, removed: 1 });
      streams.scavenge();
      expect(await verifyOwn()).to.deep.equal(removed);
      await append(own, [blocked('b', 2)]);
      await archive(own);
      expect(await verifyOwn()).to.deep.equal({ ...removed, equal: 15 });
    });

    it('verify explains a missing right, an unavailable server and a wrong name', async () => {
      const expectFailure = async (line: string, exitCode = 1, ...args: readonly string[]) =>
        expect(await linklog(own, 'verify', ...args)).to.deep.equal({
          ...{ exitCode, stdout: '', stderr: `linklog: ${line}\n` },
        });
      const unusable = 'EVENTSTORE_URL: EventStoreDB cannot be used';
      double.permitReadAll(false);
      await expectFailure(
        `${unusable}: ACCESS_DENIED; only the group $admins may read all streams`,
      );
      expect(await verifyOwn('--stream', 'key-k')).to.include({ equal: 1 });
      double.permitReadAll(true);
      await expectFailure(
        '"order-1" is no stream of the archive, such as link-<code>',
        2,
        ...['--stream', 'order-1'],
      );
      double.kill();
      await expectFailure(`${unusable}: UNAVAILABLE`);
      const unset = await runLinklogCli(['archive', 'verify'], { DATABASE_URL: own.url });
      expect(unset).to.include({ exitCode: 78, stderr: 'linklog: EVENTSTORE_URL is not set\n' });
    });
  });
});
