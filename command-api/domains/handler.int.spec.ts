import { expect } from 'chai';
import { readDomains, readDomainsOf } from '../../ops/ledger/domains.js';
import { databaseFixture, twoLedgersFixture } from '../../ops/test/support/fixtures.js';
import type { Domain } from '../../schemas/folds/domain.js';
import { claimLifeMs, recordValueOf } from './command.js';
import { domainResponseOf } from './view.js';
import { createDomainHandler, type DomainOutcome } from './handler.js';

const actor = { actor: 'key-1', requestId: null };

describe('command API: domains in the ledger', () => {
  const database = databaseFixture('claims');
  const nodes = twoLedgersFixture(database);
  let names = 0;

  const newName = (): string => {
    names += 1;
    return `domain-${names}.example`;
  };
  const handler = (node = 0): ReturnType<typeof createDomainHandler> => {
    const { pool, outbox } = nodes[node % 2] ?? nodes[0];
    return createDomainHandler(pool, outbox);
  };
  const read = async (name: string): Promise<Domain> => {
    const domain = (await readDomains(nodes[0].pool, [name])).get(name);
    if (!domain) throw new Error(`${name} has no row`);
    return domain;
  };
  const done = (outcome: DomainOutcome): Domain => {
    if (outcome.type === 'refused') throw new Error(`refused: ${outcome.refusal.type}`);
    return outcome.domain;
  };
  const refusalOf = (outcome: DomainOutcome): string =>
    outcome.type === 'refused' ? outcome.refusal.type : outcome.type;
  const recordOf = async (name: string, account: string): Promise<string> =>
    recordValueOf((await read(name)).claims[account]?.token ?? '');
  /** Changes the time of the claim, as if it was made earlier. */
  const age = async (name: string, account: string, ms: number): Promise<void> => {
    await nodes[0].pool.query(
      `UPDATE ledger.domains
       SET claims = jsonb_set(claims, ARRAY[$2, 'claimedAt'], to_jsonb($3::text)) WHERE domain = $1`,
      [name, account, new Date(Date.now() - ms).toISOString()],
    );
  };

  it('count live claims and active domains of the account', async () => {
    const [own, claimed, active] = [newName(), newName(), newName()];
    done(await handler().claim(own, 'other', 1, actor));
    done(await handler().claim(claimed, 'counted', 2, actor));
    done(await handler().add(active, 'counted', actor));
    // A claim of a domain that another account has claimed counts as well.
    for (const name of [newName(), own]) {
      expect(refusalOf(await handler().claim(name, 'counted', 2, actor))).to.equal(
        'domainsExhausted',
      );
    }
    done(await handler().claim(active, 'counted', 2, actor));
  });

  it('do not count expired claims, and do not verify or show them', async () => {
    const [expired, live] = [newName(), newName()];
    done(await handler().claim(expired, 'late', 1, actor));
    const record = await recordOf(expired, 'late');
    await age(expired, 'late', claimLifeMs - 60_000);
    expect(refusalOf(await handler().claim(live, 'late', 1, actor))).to.equal('domainsExhausted');
    await age(expired, 'late', claimLifeMs + 1);
    done(await handler().claim(live, 'late', 1, actor));
    expect(refusalOf(await handler().verify(expired, 'late', [record], actor))).to.equal(
      'notFound',
    );
    expect(refusalOf(await handler().release(expired, 'late', actor))).to.equal('notFound');
    const shown = domainResponseOf(expired, await read(expired), 'late', 0, new Date());
    expect(shown).to.equal(null);
    const claimedAfter = new Date(Date.now() - claimLifeMs);
    const listed = await readDomainsOf(database.pool, 'late', {
      after: '',
      limit: 9,
      claimedAfter,
    });
    expect([...listed.keys()]).to.deep.equal([live]);
    // The next claim has another token.
    done(await handler().claim(expired, 'late', 2, actor));
    expect(await recordOf(expired, 'late')).to.not.equal(record);
  });

  it('limit claims exactly on two nodes', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => handler(index).claim(newName(), 'racing', 5, actor)),
    );
    expect(outcomes.filter(({ type }) => type === 'done')).to.have.lengthOf(5);
  });

  it('go to one of the accounts that verify at the same time', async () => {
    const accounts = ['a', 'b', 'c', 'd'];
    const name = newName();
    for (const account of accounts) done(await handler().claim(name, account, 1, actor));
    const found = await Promise.all(accounts.map((account) => recordOf(name, account)));
    const outcomes = await Promise.all(
      accounts.map((account, index) => handler(index).verify(name, account, found, actor)),
    );
    const taken = 'belongsToAnother';
    expect(outcomes.map(refusalOf).sort()).to.deep.equal([taken, taken, taken, 'done']);
    const { owner, claims } = await read(name);
    expect(accounts).to.include(owner?.account);
    // The others keep their claims, and may verify them after a release.
    expect(Object.keys(claims)).to.have.members(
      accounts.filter((account) => account !== owner?.account),
    );
    done(await handler().releaseFromOwner(name, actor));
    const [next = ''] = Object.keys(claims);
    const verified = done(await handler().verify(name, next, found, actor));
    expect(verified.owner).to.include({ account: next });
  });

  it('keep whether codes ignore case once they had a link, also for another account', async () => {
    const [name, other] = [newName(), newName()];
    const { add, releaseFromOwner } = handler();
    for (const domain of [name, other]) done(await add(domain, 'any-case', actor, true));
    await nodes[0].pool.query(
      `INSERT INTO ledger.links (subject, key_id, account, sequence, last_event_at, created_at, deleted)
       VALUES ($1, 'key', 'any-case', 2, now(), now(), true)`,
      [`${name}/sale`],
    );
    for (const domain of [name, other]) done(await releaseFromOwner(domain, actor));
    expect(refusalOf(await add(name, 'third', actor, false))).to.equal('caseFixed');
    done(await add(name, 'third', actor));
    done(await add(other, 'third', actor, false));
    expect(await read(name)).to.include({ caseInsensitive: true });
    expect(await read(other)).to.include({ caseInsensitive: false });
  });
});
