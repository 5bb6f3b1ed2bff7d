import { expect } from 'chai';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';
import { transaction } from '../../ops/platform/postgres/pool.js';
import { endLeases, renewLeases, type Leased } from './leases.js';

type Renewed = Awaited<ReturnType<typeof renewLeases>>;

/** More than a process could lease when it had a limit. */
const count = 1_200;

describe('projectors: the leases of webhooks', () => {
  const node = ledgerFixture(databaseFixture('leases'));

  const execute = (statement: string, ...values: unknown[]) => node.pool.query(statement, values);

  const setUp = async (webhooks: number): Promise<void> => {
    await execute('TRUNCATE ledger.webhooks, delivery.cursors, delivery.deliverers');
    await execute(
      `INSERT INTO ledger.webhooks (id, account, status, url, secrets, created_at, sequence, last_event_at)
       SELECT 'wh_' || i, 'acme', 'enabled', 'https://example.com', '[]', now(), 1, now() - interval '90 seconds'
       FROM generate_series(1, $1::integer) i`,
      webhooks,
    );
    await execute(
      `INSERT INTO delivery.cursors (webhook, cursor) SELECT id, '' FROM ledger.webhooks`,
    );
  };

  /** A process that delivers what it takes. */
  const startProcess = (owner: string) => {
    const delivered = new Map<string, Leased>();
    return {
      delivered,
      /** Repeated like by the deliverer, while it takes some. */
      async renew(): Promise<Renewed> {
        const renewed = await renewLeases(node.pool, owner, [...delivered.keys()]);
        for (const id of renewed.released) delivered.delete(id);
        for (const lease of renewed.taken) delivered.set(lease.id, lease);
        const { taken } = renewed;
        if (taken.length === 0) return renewed;
        const next = await this.renew();
        return {
          ...renewed,
          ...next,
          taken: [...taken, ...next.taken],
          released: [...renewed.released, ...next.released],
        };
      },
      end: () => endLeases(node.pool, owner),
      /** As if its lease had not been renewed for 7 s. */
      kill: () =>
        execute(
          `UPDATE delivery.deliverers SET leased_until = clock_timestamp() - interval '1 second' WHERE id = $1`,
          owner,
        ),
    };
  };

  it('of one process are all webhooks, whatever their number', async () => {
    await setUp(count);
    const first = startProcess('a');
    expect(await first.renew()).to.include({ unleased: 0, waitingSeconds: 0 });
    expect(first.delivered).to.have.lengthOf(count);
    expect(await first.renew()).to.deep.include({ released: [], taken: [] });
  });

  it('are shared with a new process, and taken from a process that was killed or has ended', async () => {
    await setUp(count);
    const [first, second, third] = [startProcess('a'), startProcess('b'), startProcess('c')];
    await first.renew();
    await second.renew();
    await third.renew();
    for (const process of [first, second, third]) await process.renew();
    for (const { delivered } of [first, second, third])
      expect(delivered).to.have.lengthOf(count / 3);
    const ids = [first, second, third].flatMap(({ delivered }) => [...delivered.keys()]);
    expect(new Set(ids)).to.have.lengthOf(count);

    await first.kill();
    await second.renew();
    expect(await third.renew()).to.include({ unleased: 0 });
    expect(second.delivered).to.have.lengthOf(count / 2);
    expect(third.delivered).to.have.lengthOf(count / 2);
    await second.end();
    await third.renew();
    expect(third.delivered).to.have.lengthOf(count);
  });

  it('end with a change, and begin again with a new generation', async () => {
    await setUp(3);
    const process = startProcess('a');
    await process.renew();
    const before = process.delivered.get('wh_1')?.generation ?? NaN;
    await execute("UPDATE ledger.webhooks SET sequence = 2 WHERE id = 'wh_1'");
    await execute("UPDATE ledger.webhooks SET status = 'paused', sequence = 2 WHERE id = 'wh_2'");
    const { released, taken } = await process.renew();
    expect(released).to.have.members(['wh_1', 'wh_2']);
    expect(taken.map(({ id, generation }) => [id, generation])).to.deep.equal([
      ['wh_1', before + 1],
    ]);
    expect([...process.delivered.keys()]).to.have.members(['wh_1', 'wh_3']);
  });

  it('are repeated for a webhook whose worker has ended', async () => {
    await setUp(2);
    const process = startProcess('a');
    await process.renew();
    process.delivered.delete('wh_2');
    await process.renew();
    expect([...process.delivered.keys()]).to.have.members(['wh_1', 'wh_2']);
  });

  it('report a webhook that no process takes, and how long it waits', async () => {
    await setUp(2);
    const process = startProcess('a');
    await transaction(node.pool, async (tx) => {
      await tx.query("SELECT FROM delivery.cursors WHERE webhook = 'wh_2' FOR UPDATE");
      const { unleased, waitingSeconds } = await process.renew();
      expect(unleased).to.equal(1);
      expect(waitingSeconds).to.be.within(90, 200);
    });
    expect(await process.renew()).to.include({ unleased: 0, waitingSeconds: 0 });
  });
});
