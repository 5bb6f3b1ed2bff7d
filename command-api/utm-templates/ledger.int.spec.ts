import { expect } from 'chai';
import { createLockedDecisions } from '../../ops/ledger/decide.js';
import { addToLedger } from '../../ops/ledger/rebuild/rebuild.js';
import {
  countUtmTemplates,
  readUtmTemplates,
  utmTemplates,
} from '../../ops/ledger/utm-templates.js';
import { transaction } from '../../ops/platform/postgres/pool.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture, twoLedgersFixture } from '../../ops/test/support/fixtures.js';
import { topics } from '../../schemas/events/topics.js';
import { utmTemplateSubject } from '../../schemas/folds/utm-template.js';
import {
  recordOf,
  someUtmTemplate,
  utmTemplateDeleted,
  utmTemplateSaved,
} from '../../schemas/testing/events.js';
import { utmTemplateDecider } from './command.js';

describe('command API: UTM templates in the ledger', () => {
  const database = databaseFixture('utm_templates');
  const nodes = twoLedgersFixture(database);

  const decisionsOn = (node: number) =>
    fixture(() => createLockedDecisions(nodes[node] ?? nodes[0], utmTemplates, utmTemplateDecider));
  const [first, second] = [decisionsOn(0), decisionsOn(1)];
  /** The most requests that waited for a connection. */
  let waiting = 0;

  const save = (node: number, account: string, name: string) =>
    (node % 2 === 0 ? first : second).submit({
      subject: utmTemplateSubject(account, name),
      metadata: { actor: 'key-1', requestId: null },
      commandOf: async (tx) => {
        waiting = Math.max(waiting, ...nodes.map(({ pool }) => pool.waitingCount));
        if (name === 'broken') throw new Error(name);
        const count = await countUtmTemplates(tx, account);
        const data = { account, terms: { ...someUtmTemplate, name }, count };
        return { type: 'SaveUtmTemplate', data };
      },
    });
  const namesOf = async (account: string) =>
    (await readUtmTemplates(database.pool, account)).map(({ name }) => name);

  it('are exactly 100 after concurrent saves on two nodes, and one event for one name', async () => {
    const names = Array.from({ length: 104 }, (_, index) => `t${index}`);
    const decided = await Promise.all(names.map((name, index) => save(index, 'full', name)));
    const refused = decided.filter(({ decision }) => decision.type === 'refused');
    expect([refused.length, (await namesOf('full')).length]).to.deep.equal([4, 100]);
    const same = await Promise.all(names.map((_, index) => save(index, 'same', 'Newsletter')));
    const types = same.map(({ decision }) => decision.type);
    expect(types.filter((type) => type === 'accepted')).to.have.length(1);
    expect(types.filter((type) => type === 'unchanged')).to.have.length(103);
    // Other requests get a connection.
    expect(waiting).to.equal(0);
  });

  it('that cannot be decided fail alone', async () => {
    const saves = ['a', 'broken', 'b', 'c'].map((name) => save(0, 'alone', name));
    const outcomes = await Promise.allSettled(saves);
    expect(outcomes.filter(({ status }) => status === 'rejected')).to.have.length(1);
    expect(await namesOf('alone')).to.deep.equal(['a', 'b', 'c']);
  });

  it('are those of the account, in the order of their code points', async () => {
    for (const name of ['b', 'ä', 'B', 'a', '🎉']) await save(0, 'sorted', name);
    await save(0, 'sorted-2', 'foreign');
    expect(await namesOf('sorted')).to.deep.equal(['B', 'a', 'b', 'ä', '🎉']);
  });

  it('are rebuilt from the log, and repeats change nothing', async () => {
    const [saved, gone] = ['acme:Newsletter', 'acme:Gone'];
    const events = [
      utmTemplateSaved(saved, 1, {}),
      utmTemplateSaved(gone, 1, { name: 'Gone' }),
      utmTemplateDeleted(gone, 2),
      utmTemplateSaved(saved, 1, { source: 'repeated' }),
    ];
    const records = events.map((event, offset) => ({ ...recordOf(event), offset }));
    const read = () => transaction(database.pool, (tx) => utmTemplates.lock(tx, [saved, gone]));
    const add = async () => {
      await transaction(database.pool, (tx) =>
        addToLedger(tx, 'ledger', topics.accounts.name, records),
      );
      return read();
    };
    const states = await add();
    expect(states.get(gone)).to.deep.include({ status: 'deleted', account: 'acme', sequence: 2 });
    expect(states.get(saved)).to.deep.include({ ...someUtmTemplate, status: 'saved', sequence: 1 });
    expect(await add()).to.deep.equal(states);
  });
});
