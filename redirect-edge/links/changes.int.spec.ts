import { expect } from 'chai';
import { notifyChanges } from '../../ops/ledger/changes.js';
import { readPlatform, savePlatform } from '../../ops/ledger/platform.js';
import { createLogger } from '../../ops/platform/logging.js';
import { listenToPostgres } from '../../ops/platform/postgres/listener.js';
import { execute, createPool, transaction } from '../../ops/platform/postgres/pool.js';
import { recordHistory } from '../../ops/test/support/ledger-links.js';
import { notify } from '../../ops/test/support/notify.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { eventually, rejection } from '../../ops/test/support/waiting.js';
import { openTestLog } from '../../ops/test/support/node.js';
import { startTcpProxy, type TcpProxy } from '../../ops/test/support/tcp-proxy.js';
import { evolvePlatform } from '../../schemas/folds/platform.js';
import { blocked, created, maintenanceSwitched, unblocked } from '../../schemas/testing/events.js';
import { watchChanges } from './changes.js';
import { LinkCache, LinkReader } from './link-reader.js';
import { writeAfter, writeOnly } from '../../ops/platform/postgres/statement.js';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';

const logger = createLogger('silent');

describe('redirect edge: notifications of changes', () => {
  const database = databaseFixture('changes');
  const node = ledgerFixture(database);

  /** An edge, with proxies of its listener's connection and of its other connections. */
  const startEdge = async () => {
    const listenerProxy = await startTcpProxy(database.url);
    const poolProxy = await startTcpProxy(database.url);
    const listener = listenToPostgres(listenerProxy.url, ['linklog_changes'], logger);
    const pool = createPool({ url: poolProxy.url, name: 'edge', max: 4, logger });
    const { log, outbox } = await openTestLog({ pool, url: database.url, logger });
    const links = new LinkReader(pool, outbox, new LinkCache(1e6));
    const watch = await watchChanges({ listener, pool, links, logger });
    await eventually('the edge listens', () => listener.listening);
    return {
      ...{ links, watch, listener, listenerProxy, poolProxy },
      async status(subject: string): Promise<string | null> {
        return (links.cached(subject) ?? (await links.read(subject)))?.status ?? null;
      },
      async stop(): Promise<void> {
        watch.stop();
        await listener.close();
        await log.close();
        await pool.end();
        await listenerProxy.close();
        await poolProxy.close();
      },
    };
  };
  const edge = fixture(startEdge, (started) => started.stop(), { per: 'test' });

  let subjects = 0;
  /** Creates a link, and reads it into memory. */
  const cachedLink = async (): Promise<string> => {
    subjects += 1;
    const subject = `cached-${subjects}`;
    await recordHistory(node, created(subject));
    expect(await edge.status(subject)).to.equal('active');
    expect(edge.links.cached(subject)?.status).to.equal('active');
    return subject;
  };

  const change = (subject: string, event: typeof blocked | typeof unblocked, sequence: number) =>
    transaction(node.pool, async (tx) => {
      const notified = notifyChanges([{ kind: 'link', subject, sequence }]);
      await execute(tx, writeAfter(notified, node.outbox.record([event(subject, sequence)])));
    });

  const switchMaintenance = (on: boolean): Promise<void> =>
    transaction(node.pool, async (tx) => {
      const state = await readPlatform(tx, 'FOR UPDATE');
      const switched = evolvePlatform(state, maintenanceSwitched(state.sequence + 1, on));
      const notified = notifyChanges([{ kind: 'platform' }]);
      await execute(tx, writeOnly([savePlatform(switched), ...notified]));
    });

  const dropped = (subject: string): Promise<void> =>
    eventually(`${subject} is not in memory`, () => edge.links.cached(subject) === undefined);

  /** Resets all connections, until `inspect(null)`. */
  const interrupt = (proxy: TcpProxy): void => {
    proxy.inspect((_chunk, cut) => {
      cut();
    });
    proxy.cut();
  };

  it('drop the changed link, and no other', async () => {
    const [subject, other] = [await cachedLink(), await cachedLink()];
    await change(subject, blocked, 2);
    await dropped(subject);
    expect(edge.links.cached(other)?.status).to.equal('active');
    expect(await edge.status(subject)).to.equal('blocked');
    expect(edge.links.cached(subject)?.status).to.equal('blocked');
    await change(subject, unblocked, 3);
    await dropped(subject);
    expect(await edge.status(subject)).to.equal('active');
  });

  it('switch maintenance on and off', async () => {
    expect(edge.watch.maintenance).to.equal(false);
    for (const on of [true, false]) {
      await switchMaintenance(on);
      await eventually(`maintenance is ${String(on)}`, () => edge.watch.maintenance === on);
    }
  });

  it('are not needed while the listener is disconnected: links are read for every visit', async () => {
    const [subject, later] = [await cachedLink(), await cachedLink()];
    interrupt(edge.listenerProxy);
    await dropped(subject);
    await change(subject, blocked, 2);
    expect(await edge.status(subject)).to.equal('blocked');
    expect(edge.links.cached(subject)).to.equal(undefined);
    expect(await edge.status(later)).to.equal('active');
    await change(later, blocked, 2);
    await switchMaintenance(true);
    expect(await edge.status(later)).to.equal('blocked');

    edge.listenerProxy.inspect(null);
    await eventually('the switches are read again', () => edge.watch.maintenance);
    expect(await edge.status(subject)).to.equal('blocked');
    await eventually('links are served from memory', async () => {
      await edge.status(subject);
      return edge.links.cached(subject)?.status === 'blocked';
    });
    await switchMaintenance(false);
    await eventually('maintenance is over', () => !edge.watch.maintenance);
  });

  it('do not reach an edge without PostgreSQL, which serves stale links', async () => {
    const subject = await cachedLink();
    interrupt(edge.listenerProxy);
    interrupt(edge.poolProxy);
    await dropped(subject);
    await change(subject, blocked, 2);
    expect(await edge.status(subject)).to.equal('active');
    expect(await rejection(edge.status('never-read'))).to.be.an('error');

    edge.poolProxy.inspect(null);
    await eventually('the link is blocked', async () => (await edge.status(subject)) === 'blocked');
    edge.listenerProxy.inspect(null);
  });

  it('that are forged or cannot be parsed only cause another read of links', async () => {
    const subject = await cachedLink();
    const forged = [Number.MAX_SAFE_INTEGER, 1, -1].map((sequence) =>
      JSON.stringify({ kind: 'link', subject, sequence }),
    );
    for (const payload of [
      ...['{"kind":"teleport"}', `{"kind":"link","subject":"${subject}"}`, 'no JSON', ''],
      ...forged,
    ]) {
      await notify(node.pool, 'linklog_changes', [payload]);
      await dropped(subject);
      expect(await edge.status(subject)).to.equal('active');
      expect(edge.links.cached(subject)?.status).to.equal('active');
    }
    await change(subject, blocked, 2);
    await dropped(subject);
    expect(await edge.status(subject)).to.equal('blocked');
  });
});
