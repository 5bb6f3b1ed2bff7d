import { expect } from 'chai';
import fc from 'fast-check';
import { topics } from '../../schemas/events/topics.js';
import { evolveInvitation } from '../../schemas/folds/invitation.js';
import { noSubject } from '../../schemas/folds/subject-state.js';
import { evolvePerson, noPerson, type Person } from '../../schemas/folds/person.js';
import { roleNames, scopesOfRole, type Role } from '../../schemas/roles.js';
import {
  at,
  invitationAccepted,
  invitationCreated,
  invitationWithdrawn,
  keyChanged,
  keyCreated,
  personAdded,
  personChanged,
  personRemoved,
  recordOf,
  withoutAccount,
} from '../../schemas/testing/events.js';
import type { LinklogEvent, PersonEvent } from '../../schemas/events/catalogue.js';
import { execute, transaction } from '../platform/postgres/pool.js';
import { writeOnly } from '../platform/postgres/statement.js';
import type { TestDatabase } from '../test/support/database.js';
import { databaseFixture } from '../test/support/fixtures.js';
import { invitations, readInvitations } from './invitations.js';
import {
  accountsWithOtherOwner,
  findPerson,
  findPersonId,
  listPeople,
  people,
  readPeople,
  roleHash,
} from './people.js';
import type { Principal } from '../../schemas/principal.js';
import { principalOf } from './principals.js';
import { addToLedger } from './rebuild/rebuild.js';

const maria = 'usr_6hQz1mV0bT8kXw2RfL4d';
const ben = 'usr_00000000000000000ben';

const foldOf = (...events: readonly PersonEvent[]): Person => events.reduce(evolvePerson, noPerson);

const addTo = ({ pool }: TestDatabase, events: readonly LinklogEvent[]): Promise<unknown> =>
  transaction(pool, (tx) => {
    const records = events.map((event, offset) => ({ ...recordOf(event), offset }));
    return addToLedger(tx, 'ledger', topics.accounts.name, records);
  });

describe('ledger: people', () => {
  const database = databaseFixture('people');

  beforeEach(() =>
    database.pool.query(
      'TRUNCATE ledger.people, ledger.roles, ledger.invitations, ledger.api_keys, ledger.key_secrets CASCADE',
    ),
  );

  const save = (id: string, person: Person): Promise<unknown> =>
    transaction(database.pool, async (tx) => {
      await people.lock(tx, [id]);
      await execute(tx, writeOnly(people.save(new Map([[id, person]]))));
    });

  const addToLog = (...events: readonly LinklogEvent[]) => addTo(database, events);

  const read = (...ids: readonly string[]) => readPeople(database.pool, ids);

  const inAcme = personAdded(maria, { role: 'viewer' });
  const inShop = personAdded(
    maria,
    { role: 'owner', source: 'group' },
    { account: 'shop', sequence: 2, time: at(1) },
  );

  it('are rebuilt from the log as their fold, and repeats change nothing', async () => {
    const steps = fc.array(
      fc.record({
        person: fc.constantFrom(maria, ben),
        account: fc.constantFrom('acme', 'shop'),
        role: fc.option(fc.constantFrom<Role>(...roleNames)),
        name: fc.constantFrom('María', null, 'Zoë'),
      }),
      { maxLength: 15 },
    );
    const holds = async (
      history: typeof steps extends fc.Arbitrary<infer Value> ? Value : never,
    ): Promise<void> => {
      await database.pool.query('TRUNCATE ledger.people, ledger.roles');
      const states = new Map<string, Person>();
      const events = history.map(({ person: id, account, role, name }, index) => {
        const state = states.get(id) ?? noPerson;
        const attributes = { account, time: at(index), sequence: state.sequence + 1 };
        const event =
          state.sequence === 0 || (role !== null && !state.roles.has(account))
            ? personAdded(id, { role: role ?? 'viewer', name, identity: id }, attributes)
            : role === null
              ? personRemoved(id, attributes.sequence, attributes)
              : personChanged(id, attributes.sequence, { role, name }, attributes);
        states.set(id, evolvePerson(state, event));
        return event;
      });
      await addToLog(...events);
      expect(await read(maria, ben)).to.deep.equal(states);
      await addToLog(...events);
      expect(await read(maria, ben)).to.deep.equal(states);
    };
    await fc.assert(fc.asyncProperty(steps, holds), { numRuns: 30 });
  });

  it('are found by issuer and identity, never by e-mail address', async () => {
    await save(maria, foldOf(inAcme));
    const found = (issuer: string, identity: string) =>
      findPersonId(database.pool, issuer, identity);
    expect(await found('https://id.example.com', 'maria')).to.equal(maria);
    expect(await found('https://other.example.com', 'maria')).to.equal(null);
    expect(await found('https://id.example.com', 'maria@example.com')).to.equal(null);
    const twin = foldOf(personAdded(ben, { identity: 'maria' }));
    await save(ben, twin).then(
      () => expect.fail('two people have the same issuer and identity'),
      (error: unknown) => {
        expect(error).to.have.property('code', '23505');
      },
    );
  });

  it('are listed by ID, those of an account or all, without those that have no role', async () => {
    await save(maria, foldOf(inAcme, inShop));
    await save(ben, foldOf(personAdded(ben, { identity: 'ben', role: 'owner' })));
    const gone = 'usr_0000000000000000gone';
    const left = foldOf(personAdded(gone, { identity: 'gone' }), personRemoved(gone, 2));
    await save(gone, left);
    const list = async (account: string | null, limit = 10, after = '') =>
      (await listPeople(database.pool, account, limit, after)).map(({ id }) => id);
    expect(await list(null)).to.deep.equal([ben, maria]);
    expect(await list('acme')).to.deep.equal([ben, maria]);
    expect(await list('shop')).to.deep.equal([maria]);
    expect(await list('none')).to.deep.equal([]);
    expect(await list(null, 1)).to.deep.equal([ben]);
    expect(await list(null, 1, ben)).to.deep.equal([maria]);
    expect(await findPerson(database.pool, gone)).to.include({ id: gone, lastSeenAt: null });
    expect(await findPerson(database.pool, 'usr_00000000000000unknown')).to.equal(null);
  });

  it('keep their last session when their roles change', async () => {
    await save(maria, foldOf(inAcme));
    await database.pool.query(
      `UPDATE ledger.people SET last_seen_at = '2026-05-20T12:00Z', last_account = 'acme'`,
    );
    await save(maria, foldOf(inAcme, inShop));
    expect((await findPerson(database.pool, maria))?.lastSeenAt).to.deep.equal(at(0));
  });

  it('count as other owners of their accounts', async () => {
    await save(maria, foldOf(inAcme, inShop));
    await save(ben, foldOf(personAdded(ben, { identity: 'ben', role: 'owner' })));
    const others = (id: string) =>
      transaction(database.pool, (tx) => accountsWithOtherOwner(tx, ['acme', 'shop'], id));
    expect(await others(maria)).to.deep.equal(new Set(['acme']));
    expect(await others(ben)).to.deep.equal(new Set(['shop']));
  });

  describe('as principals', () => {
    const read = async (id: string, account: string): Promise<Principal | null> => {
      const { rows } = await database.pool.query<Principal>(
        `SELECT p.* FROM (SELECT $1::bytea AS hash) h, ${principalOf('h.hash')} p`,
        [roleHash(id, account)],
      );
      expect(rows).to.have.length.at.most(1);
      return rows[0] ?? null;
    };
    const root = (id: string, data: Parameters<typeof keyCreated>[1] = {}) =>
      keyCreated(id, { hash: id.padEnd(64, '0').replace(/[^0-9a-f]/g, 'a'), ...data });

    it('have the scopes of their role, and the limits of the oldest active root key', async () => {
      const newest = root('b1', { plan: 'PRO' });
      await addToLog(newest, root('a1', { plan: 'INDIE' }));
      for (const role of roleNames) {
        await save(maria, foldOf(personAdded(maria, { role })));
        const principal = await read(maria, 'acme');
        expect(principal).to.include({ id: maria, account: 'acme', name: 'María' });
        expect(principal).to.include({ rootId: 'a1', plan: 'INDIE' });
        expect(principal?.scopes).to.have.members(scopesOfRole(role));
      }
      const terms = { name: 'a1', plan: 'INDIE' as const, status: 'suspended' as const };
      await addToLog(keyChanged('a1', 2, terms));
      expect(await read(maria, 'acme')).to.include({ rootId: 'b1', plan: 'PRO' });
    });

    it('are none without a role in the account, or while the account has no active root', async () => {
      await save(maria, foldOf(inAcme));
      expect(await read(maria, 'acme')).to.equal(null);
      await addToLog(root('a1'));
      expect(await read(maria, 'acme')).to.include({ id: maria });
      expect(await read(maria, 'shop')).to.equal(null);
      expect(await read(ben, 'acme')).to.equal(null);
      const terms = { name: 'a1', plan: 'HOBBY' as const, status: 'suspended' as const };
      await addToLog(keyChanged('a1', 2, terms));
      expect(await read(maria, 'acme')).to.equal(null);
    });

    it('never act as the installation in an account', async () => {
      await addToLog(root('a1'));
      const operator = { role: 'operator', source: 'group' } as const;
      const installed = withoutAccount(personAdded(maria, operator));
      await save(maria, foldOf(installed));
      expect(await read(maria, '')).to.equal(null);
      expect(await read(maria, 'acme')).to.equal(null);
    });
  });
});

describe('ledger: invitations', () => {
  const database = databaseFixture('invitations');
  const hour = 3_600_000;
  const inTime = (ms: number): string => new Date(Date.now() + ms).toISOString();
  const created = invitationCreated('i1', { expiresAt: inTime(hour), email: 'm@example.com' });
  const accepted = invitationAccepted('i1', 2, { person: maria });

  beforeEach(() => database.pool.query('TRUNCATE ledger.invitations'));

  const addToLog = (...events: readonly LinklogEvent[]) => addTo(database, events);
  const read = (...ids: readonly string[]) =>
    transaction(database.pool, (tx) => invitations.lock(tx, ids));

  it('are rebuilt from the log as their fold, and repeats change nothing', async () => {
    const other = invitationCreated('i2', { tokenHash: 'other' });
    const events = [created, other, accepted, invitationWithdrawn('i2', 2), created];
    const states = new Map([
      ['i1', [created, accepted].reduce(evolveInvitation, noSubject)],
      ['i2', [other, invitationWithdrawn('i2', 2)].reduce(evolveInvitation, noSubject)],
    ]);
    await addToLog(...events);
    expect(await read('i1', 'i2', 'i3')).to.deep.equal(states);
    await addToLog(...events);
    expect(await read('i1', 'i2')).to.deep.equal(states);
  });

  it('are found by token and by account while they are pending', async () => {
    const found = async () => [
      (await readInvitations(database.pool, 'token_hash', 'a-token-hash'))[0]?.id ?? null,
      ...(await readInvitations(database.pool, 'account', 'acme')).map(({ id }) => id),
    ];
    await addToLog(created, invitationCreated('i0', { tokenHash: 'b', expiresAt: inTime(hour) }));
    expect(await found()).to.deep.equal(['i1', 'i0', 'i1']);
    expect(await readInvitations(database.pool, 'account', 'shop')).to.deep.equal([]);
    expect(await readInvitations(database.pool, 'token_hash', '')).to.deep.equal([]);
    await addToLog(accepted);
    expect(await found()).to.deep.equal([null, 'i0']);
    const over = { tokenHash: 'c', expiresAt: inTime(-1) };
    await addToLog(invitationCreated('i3', over));
    expect(await found()).to.deep.equal([null, 'i0']);
    expect(await readInvitations(database.pool, 'token_hash', 'c')).to.deep.equal([]);
  });
});
