import { expect } from 'chai';
import { databaseFixture } from '../../../ops/test/support/fixtures.js';
import { defaultPlanTable, type PlanTable } from '../../../schemas/plans.js';
import { createCodeLengths } from './code-lengths.js';

const { plans, gates } = defaultPlanTable;
const table = (codeLength: number): PlanTable => ({
  plans: { ...plans, PRO: { ...plans.PRO, codeLength } },
  gates,
});
/** One in a thousand of the codes with four characters. */
const limit = 14_776;

describe('command API: lengths of generated codes', () => {
  const database = databaseFixture('code_lengths');

  /** Adds links with these subjects, of which `*` is a number of four digits in base 36. */
  const add = (subject: string, from: number, count: number) =>
    database.pool.query(
      `INSERT INTO ledger.links (subject, key_id, account, sequence, last_event_at, created_at)
       SELECT replace($1, '*', lpad(to_hex(n), 4, 'z')), 'key', 'acme', 1, now(), now()
       FROM generate_series($2::integer, $3::integer) n`,
      [subject, from, from + count - 1],
    );
  const lengthsOf = (plan: PlanTable, length: number) =>
    createCodeLengths(database.pool, plan, length, (domain) => domain === 'any.example');

  it('are those of the plan, otherwise of the installation', () => {
    const lengths = lengthsOf(table(10), 7);
    expect(lengths.next(null, 'PRO')).to.equal(10);
    expect(lengths.next(null, 'FREE')).to.equal(7);
    expect(lengths.next(null, null)).to.equal(7);
  });

  it('increase by one when one in a thousand of the short codes of the domain is taken', async () => {
    const lengths = lengthsOf(table(4), 8);
    const next = async (domain: string | null, plan: 'PRO' | 'FREE' = 'PRO') => {
      await lengths.load(domain);
      return lengths.next(domain, plan);
    };
    await add('*', 0, limit - 5);
    await add('other.example/*', 0, 10);
    // Of another length, or in a domain.
    await add('*x', 0, 10);
    expect([await next(null), await next(null)]).to.deep.equal([4, 4]);
    await add('*', limit - 5, 5);
    const later: number[] = [];
    for (let count = 0; count < 5; count += 1) later.push(await next(null));
    expect(later.at(-1)).to.equal(5);
    expect(await next(null, 'FREE')).to.equal(8);
    expect(await next('other.example')).to.equal(4);
    const another = lengthsOf(defaultPlanTable, 4);
    await another.load(null);
    expect(another.next(null, 'FREE')).to.equal(5);
  });

  it('count fewer codes where case is ignored', async () => {
    const lengths = lengthsOf(table(4), 8);
    // One in a thousand of 32 ^ 4.
    await add('any.example/*', 0, 1_047);
    await lengths.load('any.example');
    expect(lengths.next('any.example', 'PRO')).to.equal(4);
    await add('any.example/*', 1_047, 1);
    await lengths.load('any.example');
    expect(lengths.next('any.example', 'PRO')).to.equal(5);
  });

  it('are not exceeded by four processes that generate at the same time', async () => {
    await add('busy.example/*', 0, limit - 1_000);
    let taken = limit - 1_000;
    const processes = Array.from({ length: 4 }, () => lengthsOf(table(4), 8));
    for (let round = 0; round < 400; round += 1) {
      for (const lengths of processes) {
        await lengths.load('busy.example');
        if (lengths.next('busy.example', 'PRO') !== 4) continue;
        await add('busy.example/*', taken, 1);
        taken += 1;
      }
    }
    expect(taken).to.be.within(limit, limit + 3);
  });
});
