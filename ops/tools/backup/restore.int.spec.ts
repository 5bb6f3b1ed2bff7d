import { expect } from 'chai';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { createDomainHandler } from '../../../command-api/domains/handler.js';
import { createApiKeyHandler } from '../../../command-api/keys/handler.js';
import { createCodeLedger } from '../../../command-api/links/codes/handler.js';
import { createLinkBlockHandler } from '../../../command-api/links/block/handler.js';
import { createLinkChanges } from '../../../command-api/links/change/managed-links.js';
import { createShortenHandler } from '../../../command-api/links/create/handler.js';
import { actor, newKey, type TestKey } from '../../../command-api/testing/keys.js';
import { shortenCommand } from '../../../command-api/testing/links.js';
import { catchUpProjections } from '../../../projectors/main.js';
import { projections } from '../../../projectors/projections.js';
import { liveSchema } from '../../../projectors/runtime/projection.js';
import { dump } from '../../../projectors/testing/tables.js';
import { ClickBudget } from '../../../redirect-edge/links/click-budget.js';
import { writeOrphan } from '../../../redirect-edge/spool/testing/orphan-folder.js';
import { writeEvent } from '../../../schemas/events/codec.js';
import { spoolSource } from '../../../schemas/events/envelope.js';
import { topics } from '../../../schemas/events/topics.js';
import { at, firstVisitRecordOf, recordOf, visited } from '../../../schemas/testing/events.js';
import { unknownVisitor } from '../../../schemas/testing/visitor.js';
import { foldedTables, workingState } from '../../ledger/rebuild/working-state.js';
import { migrate, RestoreUnfinished } from '../../migrations/migrate.js';
import { createLogger } from '../../platform/logging.js';
import { partitionOf } from '../../event-log/partition.js';
import type { EventLog } from '../../event-log/port.js';
import { ledgerCommandNames, ledgerCommands } from '../../test/support/ledger-commands.js';
import { testDatabase } from '../../test/support/database.js';
import { rejection } from '../../test/support/waiting.js';
import { testNode, type TestNode } from '../../test/support/node.js';
import { takeBackup, writeBackup } from './backup.js';
import { writeNewFile } from '../../platform/files/new-file.js';
import { BadBackup, openBackup, type BackupHead } from './format.js';
import { checkBackup, restoreInto } from './restore.js';
import { databaseFixture, folderFixture } from '../../test/support/fixtures.js';

const logger = createLogger('silent');

describe('backup: restore', () => {
  const dir = folderFixture();
  let file: string;
  const source = databaseFixture('source');
  let from: TestNode;

  before(async () => {
    file = path.join(dir.path, 'some.backup');
    from = await testNode(source);
  });

  after(async () => {
    await from.close();
  });

  const backUp = (options: Partial<Parameters<typeof takeBackup>[0]> = {}) =>
    takeBackup({
      ...from,
      spoolRoot: path.join(dir.path, 'spool'),
      target: (write) => writeNewFile(file, { replace: true }, write),
      spoolWithinMs: 0,
      ...options,
    });

  type Backup = Awaited<ReturnType<typeof openBackup>>;

  const withBackup = async (work: (backup: Backup) => Promise<void>): Promise<void> => {
    const backup = await openBackup(file);
    try {
      await work(backup);
    } finally {
      await backup.close();
    }
  };

  const withTarget = async (
    work: (node: TestNode, backup: Backup) => Promise<void>,
  ): Promise<void> => {
    const database = await testDatabase('target');
    const node = await testNode(database);
    try {
      await withBackup((backup) => work(node, backup));
    } finally {
      await node.close();
      await database.drop();
    }
  };

  const restoreIn = (work: (node: TestNode) => Promise<void>): Promise<void> =>
    withTarget(async (node, backup) => {
      await checkBackup(backup, { file });
      await restoreInto({ ...node, logger }, backup, {});
      await work(node);
    });

  const ledgerOf = async ({ pool }: TestNode): Promise<Record<string, unknown>> => {
    const ledger: Record<string, unknown> = {};
    const working: Readonly<Record<string, readonly string[]>> = workingState.columns;
    for (const table of foldedTables) {
      const { rows } = await pool.query<Record<string, unknown>>(
        `SELECT * FROM ledger.${table} ORDER BY 1`,
      );
      ledger[table] = rows.map((row) =>
        Object.fromEntries(Object.entries(row).filter(([name]) => !working[table]?.includes(name))),
      );
    }
    return ledger;
  };

  const logOf = async ({ pool }: TestNode): Promise<unknown> =>
    (
      await pool.query(`SELECT topic, partition, record_offset, key, ledger_sequence, value
        FROM log.events JOIN log.partitions p ON p.id = partition_id ORDER BY 1, 2, 3`)
    ).rows;

  /** Reads the rows of all projections, without the log's name in checkpoints. */
  const projectionsOf = async ({ pool }: TestNode): Promise<Record<string, unknown>> => {
    const rows: Record<string, unknown> = {};
    for (const { name } of projections) {
      const { checkpoints = [], ...tables } = await dump(pool, liveSchema(name));
      const positions = checkpoints.map((row) => row.replace(/postgres:[^:]+/, 'log'));
      rows[name] = { ...tables, checkpoints: positions.sort() };
    }
    return rows;
  };

  const links = async (key: TestKey, codes: readonly string[], maxClicks: number | null = null) => {
    const handler = createShortenHandler({ ...from, generateCode: () => 'generated' });
    const options = codes.map((code) => ({
      ...{ code, custom: true, url: `https://example.com/${code}`, maxClicks },
      passwordHash: code === 'secret' ? '$argon2id$v=19$m=1,t=1,p=1$c2FsdA$aGFzaA' : null,
    }));
    await handler.shorten(shortenCommand(key, options));
  };

  /** Creates events of every decider, and visits of a spool with repeats. */
  const live = async (): Promise<void> => {
    const [key, revoked] = [await newKey(from, 'PRO'), await newKey(from)];
    const many = Array.from({ length: 60 }, (_, index) => `many-${index}`);
    await links(key, ['plain', 'secret', ...many]);
    await links(key, ['hot', 'used-up'], 3);
    await links(key, ['busy'], 1_000_000);
    const clicks = new ClickBudget(from.pool, from.outbox);
    for (const subject of ['hot', 'hot', ...Array<string>(4).fill('used-up')]) {
      await clicks.take({ subject, requestId: 'visit', data: unknownVisitor });
    }
    const blocks = createLinkBlockHandler(from.pool, from.outbox);
    for (const type of ['BlockLink', 'UnblockLink'] as const) {
      await blocks.handle('plain', { type, reason: 'phishing' }, actor);
    }
    const commands = ledgerCommands(from, key, await newKey(from), 'busy');
    for (const name of ledgerCommandNames) await commands[name]();

    const changeLinks = createLinkChanges(from.pool, from.outbox);
    const change = (type: 'DeleteLink' | 'RestoreLink', subject: string) => {
      const safeUrls = [`https://example.com/${subject}`];
      const data = { account: null, versions: null, safeUrls };
      return changeLinks([{ type, subject, data, metadata: actor }]);
    };
    for (const subject of ['many-6', 'many-7']) await change('DeleteLink', subject);
    await change('RestoreLink', 'many-6');

    const codes = createCodeLedger(from);
    for (const code of ['plain-2', 'plain-3']) {
      const { account, hash: keyHash } = key;
      await codes.add({ subject: 'many-5', code, account, keyHash, linkLimit: null, actor });
    }
    await codes.remove('many-5', 'plain-2', key.account, actor);

    const keyHandler = createApiKeyHandler(from.pool, from.outbox);
    const asking = { id: key.id, account: key.account, requestId: 'request-1' };
    const readers = { name: 'reader', scopes: ['links:read' as const], expiresIn: 3_600 };
    await keyHandler.derive(asking, readers);
    await keyHandler.handle(revoked.id, { type: 'RevokeApiKey', data: {} }, actor);

    const domains = createDomainHandler(from.pool, from.outbox);
    await domains.claim('go.example', key.account, 5, actor);
    await domains.add('go.example', 'acme', actor);
    const redirects = { rootRedirect: 'https://example.com/root' };
    await domains.change('go.example', 'acme', redirects, actor);
    await domains.add('old.example', 'acme', actor);
    await domains.releaseFromOwner('old.example', actor);

    const source = spoolSource('one');
    const visits = [1, 2, 3, 2, 3, 4].map((sequence) =>
      visited(many[sequence % 2] ?? '', null, { sequence, source, account: 'default' }),
    );
    // The first four were written by an earlier version.
    const records = visits.map((event, index) =>
      (index < 4 ? firstVisitRecordOf : recordOf)(event),
    );
    await from.log.append(topics.visits.name, records);
    await catchUpProjections({ ...from, logger });
  };

  it('classifies every table of the ledger as a fold or as working state', async () => {
    const { rows } = await from.pool.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'ledger'`,
    );
    expect(rows.map(({ name }) => name)).to.have.members([...foldedTables, ...workingState.tables]);
  });

  /** Takes further clicks, and reads the changes that follow a sequence. */
  const expectContinued = async (node: TestNode): Promise<void> => {
    const clicks = new ClickBudget(node.pool, node.outbox);
    const take = () => clicks.take({ subject: 'hot', requestId: 'visit', data: unknownVisitor });
    expect([await take(), await take()]).to.deep.equal(['taken', 'expired']);
    const after = (subject: string) =>
      node.outbox.after(node.pool, topics.links.name, [{ subject, sequence: 1 }]);
    expect((await after('hot')).map(({ type, sequence }) => [type, sequence])).to.deep.equal([
      ['linklog.LinkExpired.v1', 2],
    ]);
    expect((await after('plain')).map(({ sequence }) => sequence)).to.deep.equal([2, 3]);
  };

  it('restores the log byte by byte, the ledger and the projections, and continues them', async () => {
    await live();
    const unreadable = { key: 'odd', value: 'no event\nat all' };
    await from.log.append(topics.links.name, [unreadable]);
    const { records } = await backUp();
    const log = (await logOf(from)) as unknown[];
    expect(records).to.equal(log.length);
    // The backup has closed the open minutes, whose events are not projected yet.
    await catchUpProjections({ ...from, logger });
    await restoreIn(async (node) => {
      expect(await logOf(node)).to.deep.equal(log);
      expect(await ledgerOf(node)).to.deep.equal(await ledgerOf(from));
      expect(await projectionsOf(node)).to.deep.equal(await projectionsOf(from));
      const { rows: meters } = await node.pool.query(
        'SELECT FROM ledger.key_meters WHERE month_calls > 0 AND month_links > 60 AND month_qr_codes > 0',
      );
      expect(meters).lengthOf(1);
      const { rows } = await node.pool.query('SELECT FROM projection_redirects.dead_letters');
      expect(rows).lengthOf(1);
      await expectContinued(node);
    });
  });

  it('reads the ends of visits before those of links and keys', async () => {
    const requested: string[] = [];
    const log: EventLog = {
      ...from.log,
      ranges(topic) {
        requested.push(topic);
        return from.log.ranges(topic);
      },
    };
    await backUp({ log });
    const { usage, visits, links: ofLinks, platform, accounts } = topics;
    const names = [usage, visits, ofLinks, platform, accounts].map(({ name }) => name);
    expect(requested).to.deep.equal(names);
  });

  it('reports visits that were not shipped in time', async () => {
    const orphans = [await writeOrphan(dir.path, [3]), await writeOrphan(dir.path, [2])];
    const { unshippedBytes } = await backUp();
    const sizes = orphans.flatMap((orphan) => orphan.sizes);
    expect(unshippedBytes).to.equal(sizes.reduce((sum, size) => sum + size, 0));
    await rm(path.join(dir.path, 'spool'), { recursive: true });
  });

  it('restores each event of the ledger once, even if the log contains a repeat', async () => {
    const [key, again] = [await newKey(from), await newKey(from)];
    await links(key, ['once']);
    const topic = topics.links.name;
    const partition = partitionOf('once', (await from.log.ranges(topic)).length);
    const next = (await from.log.ranges(topic))[partition]?.next ?? 0;
    for await (const { records } of from.log.read(topic, partition, next - 1, next)) {
      // Like the relay after a failover on Kafka.
      await from.log.append(topic, [...records, ...records]);
    }
    await links(again, ['later']);
    await backUp();
    await restoreIn(async ({ pool }) => {
      const { rows } = await pool.query(
        `SELECT (SELECT count(*) FROM log.events WHERE key = 'once') AS records,
                (SELECT sum(links)::bigint FROM projection_quotas.months
                 WHERE key_id = ANY ($1::text[])) AS links`,
        [[key.id, again.id]],
      );
      expect(rows).to.deep.equal([{ records: 1, links: 2 }]);
    });
  });

  it('restores every visit of a spool into a log with other partitions', async () => {
    const count = 500;
    const codes = Array.from({ length: 40 }, (_, index) => `code-${index}`);
    const visits = ['one', 'two'].flatMap((spool) =>
      Array.from({ length: count }, (_, index) =>
        visited(codes[(index * 7) % codes.length] ?? '', null, {
          sequence: index + 1,
          source: spoolSource(spool),
          time: at(index),
        }),
      ),
    );
    // A log with three partitions instead of eight.
    const batches = [0, 1, 2].map((partition) => ({
      topic: topics.visits.name,
      partition,
      records: visits
        .filter(({ subject }) => partitionOf(subject, 3) === partition)
        .map((event) => ({ key: event.subject, value: writeEvent(event) })),
    }));
    const partitions = batches.map(({ partition, records }) => {
      return { partition, first: 0, next: records.length };
    });
    const head: BackupHead = {
      linklogBackup: 1,
      linklog: '0.1.0',
      createdAt: '2026-05-20T12:00:00.000Z',
      topics: [{ topic: topics.visits.name, partitions }],
    };
    await writeNewFile(file, { replace: true }, async (append) => {
      await writeBackup(head, Readable.from(batches), append);
    });
    await restoreIn(async (node) => {
      const { rows } = await node.pool.query(
        'SELECT sum(clicks)::integer AS clicks FROM projection_stats.links',
      );
      expect(rows).to.deep.equal([{ clicks: 2 * count }]);
      const { rows: left } = await node.pool.query(
        `SELECT relname FROM pg_class WHERE relname LIKE 'unfinished%'`,
      );
      expect(left).to.be.empty;
    });
  });

  it('leaves an installation that does not start after an abort', async () => {
    await backUp();
    const stop = new AbortController();
    const reason = new Error('stopped by the test');
    await withTarget(async (node, backup) => {
      const broken = restoreInto({ ...node, logger }, backup, {
        signal: stop.signal,
        progress: (phase) => {
          if (phase === 'ledger') stop.abort(reason);
        },
      });
      expect(await rejection(broken)).to.equal(reason);
      expect(await rejection(migrate(node.pool))).to.be.instanceOf(RestoreUnfinished);
    });
  });

  it('rejects a backup with an event type of a later version', async () => {
    const event = writeEvent(visited('plain', null)).replace('LinkVisited.v4', 'LinkVisited.v5');
    await from.log.append(topics.visits.name, [{ key: 'plain', value: event }]);
    await backUp();
    await withBackup(async (backup) => {
      const error = await rejection(checkBackup(backup, { file }));
      expect(error).to.be.instanceOf(BadBackup);
      expect((error as Error).message).to.equal(
        `${file} was written by a later version of Linklog (${backup.head.linklog}): ` +
          'this one does not know events of type linklog.LinkVisited.v5',
      );
    });
  });
});
