import { expect } from 'chai';
import { notifyChanges } from '../../ops/ledger/changes.js';
import { readPlatform, savePlatform } from '../../ops/ledger/platform.js';
import { createLogger } from '../../ops/platform/logging.js';
import {
  listenToPostgres,
  type NotificationListener,
} from '../../ops/platform/postgres/listener.js';
import {
  execute,
  createPool,
  transaction,
  type Queryable,
} from '../../ops/platform/postgres/pool.js';
import { recordHistory } from '../../ops/test/support/ledger-links.js';
import { notify } from '../../ops/test/support/notify.js';
import { eventually, rejection } from '../../ops/test/support/waiting.js';
import { openTestLog } from '../../ops/test/support/node.js';
import { startTcpProxy, type TcpProxy } from '../../ops/test/support/tcp-proxy.js';
import { evolvePlatform } from '../../schemas/folds/platform.js';
import { blocked, created, maintenanceSwitched, unblocked } from '../../schemas/testing/events.js';
import { watchChanges, type ChangeWatch } from './changes.js';
import { LinkCache, LinkReader } from './link-reader.js';
import { deferred } from '../../ops/platform/concurrency/deferred.js';
import { writeAfter, writeOnly } from '../../ops/platform/postgres/statement.js';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';

const logger = createLogger('silent');

describe('redirect edge: changes that an edge hears of', () => {
  const database = databaseFixture('changes');
  /** Where operators decide: never cut off. */
  const node = ledgerFixture(database);

  interface Edge {
    readonly links: LinkReader;
    readonly watch: ChangeWatch;
    readonly listener: NotificationListener;
    /** Before the connection that listens. */
    readonly ear: TcpProxy;
    /** Before all other connections. */
    readonly pool: TcpProxy;
    status(code: string): Promise<string | null>;
    stop(): Promise<void>;
  }

  let edge: Edge;

  beforeEach(async () => {
    const [ear, proxy] = [await startTcpProxy(database.url), await startTcpProxy(database.url)];
    const listener = listenToPostgres(ear.url, ['linklog_changes'], logger);
    let heard = false;
    listener.onGap((state) => {
      heard = state === 'back';
    });
    const pool = createPool({ url: proxy.url, name: 'edge', max: 4, logger });
    const { log, outbox } = await openTestLog({ pool, url: database.url, logger });
    const links = new LinkReader(pool, outbox, new LinkCache(1e6));
    const watch = await watchChanges({ listener, pool, links, logger });
    await eventually('it listens', () => heard);
    edge = {
      links,
      watch,
      listener,
      ear,
      pool: proxy,
      async status(code) {
        return (links.cached(code) ?? (await links.read(code)))?.status ?? null;
      },
      async stop() {
        watch.stop();
        await listener.close();
        await log.close();
        await pool.end();
        await ear.close();
        await proxy.close();
      },
    };
  });

  afterEach(() => edge.stop());

  let codes = 0;
  /** A link that this edge has in memory. */
  const warmLink = async (): Promise<string> => {
    codes += 1;
    const code = `warm-${codes}`;
    await recordHistory(node, created(code));
    expect(await edge.status(code)).to.equal('active');
    expect(edge.links.cached(code)?.status).to.equal('active');
    return code;
  };

  const change = (code: string, what: typeof blocked | typeof unblocked, sequence: number) =>
    transaction(node.pool, async (tx) => {
      const notified = notifyChanges([{ kind: 'link', code, sequence }]);
      await execute(tx, writeAfter(notified, node.outbox.record([what(code, sequence)])));
    });

  const switchMaintenance = (on: boolean): Promise<void> =>
    transaction(node.pool, async (tx) => {
      const state = await readPlatform(tx, 'FOR UPDATE');
      const switched = evolvePlatform(state, maintenanceSwitched(state.sequence + 1, on));
      const notified = notifyChanges([{ kind: 'platform' }]);
      await execute(tx, writeOnly([savePlatform(switched), ...notified]));
    });

  const forgotten = (code: string): Promise<void> =>
    eventually(`${code} is not served from memory`, () => edge.links.cached(code) === undefined);

  /** Nothing passes from now on, and what is tried fails at once. */
  const interrupt = (proxy: TcpProxy): void => {
    proxy.inspect((_chunk, cut) => {
      cut();
    });
    proxy.cut();
  };

  it('make it forget the changed link, and no other', async () => {
    const [code, other] = [await warmLink(), await warmLink()];
    await change(code, blocked, 2);
    await forgotten(code);
    expect(edge.links.cached(other)?.status).to.equal('active');
    expect(await edge.status(code)).to.equal('blocked');
    expect(edge.links.cached(code)?.status).to.equal('blocked');
    await change(code, unblocked, 3);
    await forgotten(code);
    expect(await edge.status(code)).to.equal('active');
  });

  it('do not arrive before they are committed', async () => {
    const code = await warmLink();
    await rejection(
      transaction(node.pool, async (tx) => {
        await execute(tx, writeOnly(notifyChanges([{ kind: 'link', code, sequence: 2 }])));
        throw new Error('taken back');
      }),
    );
    const other = await warmLink();
    await change(other, blocked, 2);
    await forgotten(other);
    expect(edge.links.cached(code)?.status).to.equal('active');
  });

  it('switch maintenance on and off', async () => {
    expect(edge.watch.maintenance).to.equal(false);
    for (const on of [true, false]) {
      await switchMaintenance(on);
      await eventually(`maintenance is ${String(on)}`, () => edge.watch.maintenance === on);
    }
  });

  it('are found, because links are read again, after the server ended the connection', async () => {
    const code = await warmLink();
    const back = deferred();
    edge.listener.onGap((state) => {
      if (state === 'back') back.resolve();
    });
    const { rows } = await node.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'linklog listener' AND datname = current_database()`,
    );
    expect(rows).to.not.be.empty;
    await back.promise;
    expect(edge.links.cached(code)).to.equal(undefined);
    expect(await edge.status(code)).to.equal('active');
    expect(edge.links.cached(code)?.status).to.equal('active');
    await change(code, blocked, 2);
    await forgotten(code);
    expect(await edge.status(code)).to.equal('blocked');
  });

  it('are seen while the edge cannot hear of them, and after: nothing is served from memory', async () => {
    const [code, later] = [await warmLink(), await warmLink()];
    interrupt(edge.ear);
    await forgotten(code);
    await change(code, blocked, 2);
    expect(await edge.status(code)).to.equal('blocked');
    // What was read meanwhile is not to be relied on either: its next change is not heard.
    expect(edge.links.cached(code)).to.equal(undefined);
    expect(await edge.status(later)).to.equal('active');
    await change(later, blocked, 2);
    await switchMaintenance(true);
    expect(await edge.status(later)).to.equal('blocked');

    edge.ear.inspect(null);
    await eventually('the switches are read again', () => edge.watch.maintenance);
    expect(await edge.status(code)).to.equal('blocked');
    await eventually('memory serves again', async () => {
      await edge.status(code);
      return edge.links.cached(code)?.status === 'blocked';
    });
    await switchMaintenance(false);
    await eventually('maintenance is over', () => !edge.watch.maintenance);
  });

  it('are seen after a connection went silent without an end', async () => {
    const code = await warmLink();
    edge.ear.mute();
    await change(code, blocked, 2);
    await forgotten(code);
    expect(await edge.status(code)).to.equal('blocked');
    edge.ear.cut();
  });

  it('do not reach an edge that is cut off from PostgreSQL: it serves what it has', async () => {
    const code = await warmLink();
    interrupt(edge.ear);
    interrupt(edge.pool);
    await forgotten(code);
    await change(code, blocked, 2);
    expect(await edge.status(code)).to.equal('active');
    expect(await rejection(edge.status('never-asked'))).to.be.an('error');

    edge.pool.inspect(null);
    await eventually('the block is seen', async () => (await edge.status(code)) === 'blocked');
    edge.ear.inspect(null);
  });

  it('of an unknown kind, from another version, make it read everything again', async () => {
    const code = await warmLink();
    for (const payload of [
      '{"kind":"teleport"}',
      `{"kind":"link","code":"${code}"}`,
      'no JSON',
      '',
    ]) {
      expect(await edge.status(code)).to.equal('active');
      await notify(node.pool, 'linklog_changes', [payload]);
      await forgotten(code);
    }
  });

  it('of a flood that cannot be parsed cause one query at a time, and one after the last', async () => {
    const answer = deferred();
    let queries = 0;
    const counted = {
      async query(text: string) {
        queries += 1;
        if (queries === 2) await answer.promise;
        return node.pool.query(text);
      },
    } as unknown as Queryable;
    const { listener, links } = edge;
    const watch = await watchChanges({ listener, pool: counted, links, logger });
    let received = 0;
    const unsubscribe = listener.on('linklog_changes', () => {
      received += 1;
    });
    const payloads = Array.from({ length: 100 }, (_, index) => `forged ${index}`);
    await notify(node.pool, 'linklog_changes', payloads);
    await eventually('all notifications have arrived', () => received === payloads.length);
    await switchMaintenance(true);
    await eventually('the switch is notified', () => received === payloads.length + 1);
    unsubscribe();
    answer.resolve();
    await eventually('the switch is read', () => watch.maintenance);
    expect(queries).to.equal(3);
    watch.stop();
    await switchMaintenance(false);
  });

  it('that are forged make it read the link again, and keep it as before', async () => {
    const code = await warmLink();
    for (const sequence of [Number.MAX_SAFE_INTEGER, 1, -1]) {
      const forged = JSON.stringify({ kind: 'link', code, sequence });
      await notify(node.pool, 'linklog_changes', [forged]);
      await forgotten(code);
      expect(await edge.status(code)).to.equal('active');
      expect(edge.links.cached(code)?.status).to.equal('active');
    }
    await change(code, blocked, 2);
    await forgotten(code);
    expect(await edge.status(code)).to.equal('blocked');
  });
});
