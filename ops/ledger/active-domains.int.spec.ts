import { expect } from 'chai';
import { createDomainHandler } from '../../command-api/domains/handler.js';
import { databaseFixture, ledgerFixture } from '../test/support/fixtures.js';
import { fixture } from '../test/support/fixture.js';
import { eventually, eventuallyPasses } from '../test/support/waiting.js';
import { deferred, type Deferred } from '../platform/concurrency/deferred.js';
import { createLogger } from '../platform/logging.js';
import { listenToPostgres, type NotificationListener } from '../platform/postgres/listener.js';
import { findActiveDomains, watchActiveDomains } from './active-domains.js';

const logger = createLogger('silent');
const actor = { actor: 'an operator', requestId: null };

const defaults = { anyCase: true, logger };

describe('ledger: active domains in memory', () => {
  const database = databaseFixture('domains');
  const node = ledgerFixture(database);
  const listener = fixture(
    () => listenToPostgres(database.url, ['linklog_changes'], logger),
    (running) => running.close(),
  );
  let names = 0;

  const newName = (): string => {
    names += 1;
    return `domain-${names}.example`;
  };
  const handler = (): ReturnType<typeof createDomainHandler> =>
    createDomainHandler(node.pool, node.outbox);
  const addSilently = async (name: string): Promise<void> => {
    await node.pool.query(
      `INSERT INTO ledger.domains (domain, account, created_at, verified_at, sequence, last_event_at)
       VALUES ($1, 'acme', now(), now(), 1, now())`,
      [name],
    );
  };

  /** A listener whose notifications a test sends, and a pool whose next statement a test answers. */
  const doubles = () => {
    let notify: (payload: string) => void = () => undefined;
    let announceGap: Parameters<NotificationListener['onGap']>[0] = () => undefined;
    const failures: Deferred<never>[] = [];
    return {
      listener: {
        on: (_: unknown, callback: typeof notify) => {
          notify = callback;
          return () => undefined;
        },
        onGap: (callback: typeof announceGap) => {
          announceGap = callback;
          return () => undefined;
        },
      },
      pool: {
        query: (...args: [never]) => failures.shift()?.promise ?? node.pool.query(...args),
      },
      notify: (domain: string) => {
        notify(JSON.stringify({ kind: 'domain', domain }));
      },
      reconnect: () => {
        announceGap('back');
      },
      /** The next statement is sent, and fails when the returned function is called. */
      failNext: () => {
        const failure = deferred<never>();
        // The statement handles the rejection, but may come after it: until then, the rejection is not unhandled.
        failure.promise.catch(() => undefined);
        failures.push(failure);
        return () => {
          failure.reject(new Error('the connection was lost'));
        };
      },
      pending: () => failures.length,
    };
  };

  it('are those of the start, and follow every change', async () => {
    const [first, second] = [newName(), newName()];
    await handler().add(first, 'acme', actor);
    const domains = await watchActiveDomains({ listener, pool: node.pool, ...defaults });
    try {
      const none = { rootRedirect: null, notFoundRedirect: null, expiredRedirect: null };
      const other = { ...none, caseInsensitive: true };
      expect(domains.find(first)).to.deep.equal({
        domain: first,
        account: 'acme',
        ...none,
        caseInsensitive: false,
      });
      expect(domains.ignoresCase(null)).to.equal(true);
      expect(domains.ignoresCase(first)).to.equal(false);
      expect(domains.find(second)).to.equal(undefined);
      await handler().add(second, 'other', actor);
      await eventuallyPasses(() => {
        expect(domains.find(second)).to.include({ account: 'other' });
      });
      const rootRedirect = 'https://example.com/';
      await handler().change(first, 'acme', { rootRedirect }, actor);
      await eventuallyPasses(() => {
        expect(domains.find(first)).to.deep.include({ ...none, rootRedirect });
      });
      await handler().releaseFromOwner(first, actor);
      await eventually('it is released', () => domains.find(first) === undefined);
      await handler().add(first, 'other', actor, true);
      await eventuallyPasses(() => {
        expect(domains.find(first)).to.deep.equal({ domain: first, account: 'other', ...other });
      });
      expect(domains.ignoresCase(first)).to.equal(true);
      await handler().releaseFromOwner(first, actor);
      await eventually('it is released', () => domains.find(first) === undefined);
      // The links of the former owner have codes of either case.
      expect(domains.ignoresCase(first)).to.equal(true);
    } finally {
      domains.stop();
    }
  });

  it('are read again for an account that does not have them in memory', async () => {
    const { pending, failNext, ...deps } = doubles();
    const domains = await watchActiveDomains({ ...deps, ...defaults });
    const find = (account: string, ...names: readonly string[]) =>
      findActiveDomains({ activeDomains: domains }, account, names);
    const [name, unknown] = [newName(), newName()];
    await handler().add(name, 'acme', actor, true);
    expect(domains.find(name)).to.equal(undefined);
    expect([...(await find('acme', name, unknown))]).to.deep.equal([name]);
    expect(domains.ignoresCase(name)).to.equal(true);
    expect([...(await find('other', name))]).to.deep.equal([]);
    failNext();
    await find('acme', name);
    // The domain was in memory.
    expect(pending()).to.equal(1);
    domains.stop();
  });

  it('are not claims', async () => {
    const [claimed, verified] = [newName(), newName()];
    await handler().claim(claimed, 'acme', 5, actor);
    const domains = await watchActiveDomains({ listener, pool: node.pool, ...defaults });
    await handler().claim(verified, 'acme', 5, actor);
    await handler().add(verified, 'acme', actor);
    await eventually('it is active', () => domains.find(verified) !== undefined);
    expect(domains.find(claimed)).to.equal(undefined);
    domains.stop();
  });

  it('are read again after a lost connection and an unknown notification', async () => {
    const domains = await watchActiveDomains({ listener, pool: node.pool, ...defaults });
    for (const announce of [
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'linklog listener'`,
      `SELECT pg_notify('linklog_changes', '{"kind":"later"}')`,
    ]) {
      const name = newName();
      await addSilently(name);
      await node.pool.query(announce);
      await eventually('it is known', () => domains.find(name) !== undefined);
    }
    domains.stop();
  });

  for (const [what, isNotified] of [
    ['are all read again if the connection was lost during a failing read of one', false],
    ['of notifications during a failing read are read by the next attempt', true],
  ] as const) {
    it(what, async () => {
      const { failNext, notify, reconnect, pending, ...deps } = doubles();
      const domains = await watchActiveDomains({ ...deps, ...defaults });
      const [first, second] = [newName(), newName()];
      await addSilently(first);
      const fail = failNext();
      notify(first);
      await eventually('the read is sent', () => pending() === 0);
      await addSilently(second);
      if (isNotified) notify(second);
      else reconnect();
      fail();
      await eventually('both are known', () =>
        [first, second].every((name) => domains.find(name) !== undefined),
      );
      domains.stop();
    });
  }

  it('are complete at the start, after failed attempts', async () => {
    const { failNext, ...deps } = doubles();
    const name = newName();
    await addSilently(name);
    for (const fail of [failNext(), failNext()]) fail();
    const domains = await watchActiveDomains({ ...deps, ...defaults });
    expect(domains.find(name)).to.include({ domain: name });
    domains.stop();
  });
});
