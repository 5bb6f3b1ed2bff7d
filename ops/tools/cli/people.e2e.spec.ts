import { expect } from 'chai';
import type { OperatorsPerson } from '../../../schemas/http/people.js';
import { newPerson, peopleAt } from '../../test/e2e/people-harness.js';
import { fixture } from '../../test/support/fixture.js';
import { Browser, startIdentityProvider } from '../../test/support/identity-provider.js';
import { onService } from './testing/on-service.js';

describe('CLI: people of accounts, on a running service', () => {
  const provider = fixture(startIdentityProvider, (started) => started.stop());
  const { bench, text, json, createKey, expectFailure, linklog } = onService('own', () => ({
    ...provider.env,
    OIDC_SCOPES: 'openid profile email groups',
    OIDC_ROLES: 'cli-admins=cli-groups:admin,cli-audit=auditor',
  }));
  before(() => {
    provider.register(bench.product);
  });

  const { signIn, invite, begin } = peopleAt(bench, provider);

  /** Invites a person to an account, and signs it in. */
  const member = async (account: string, role: string, name: string) => {
    const { key } = await createKey('PRO', '--account', account);
    const { token } = await invite(key, { role });
    const browser = new Browser();
    const start = await begin(browser, token);
    return signIn(newPerson({ name }), { browser, start });
  };

  const listed = async (): Promise<readonly OperatorsPerson[]> =>
    ((await json('people', 'list')) as { people: OperatorsPerson[] }).people;

  const rowsOf = async (id: string): Promise<readonly (readonly string[])[]> =>
    (await text('people', 'list'))
      .split('\n')
      .filter((line) => line.startsWith(id))
      .map((line) => line.split(/ {2,}/));

  it('are listed with a line for each role', async () => {
    expect(await text('people', 'list')).to.equal('There are no people yet.\n');
    const claims = newPerson({ name: 'Ada\u0007', groups: ['cli-admins', 'cli-audit'] });
    await createKey('PRO', '--account', 'cli-groups');
    const ada = await signIn(claims);
    const id = await ada.idOf();
    const [head] = (await text('people', 'list')).split('\n');
    expect(head).to.match(/^ID +NAME +E-MAIL +ACCOUNT +ROLE +SOURCE +LAST SEEN$/);
    const today = new Date().toISOString().slice(0, 10);
    const email = String(claims['email']);
    expect(await rowsOf(id)).to.deep.equal([
      [id, 'Ada', email, '(installation)', 'auditor', 'group', today],
      [id, 'Ada', email, 'cli-groups', 'admin', 'group', today],
    ]);
    expect(await listed()).to.have.length(1);
    expect((await listed())[0]).to.deep.include({ id, installation: 'auditor' });
    const byProvider = 'This role comes from the identity provider';
    const set = ['people', 'set', id, '--account', 'cli-groups', '--role', 'viewer'];
    await expectFailure(set, 1, byProvider);
    await expectFailure(['people', 'remove', id, '--yes'], 1, byProvider);
  });

  it('get a role in any account, and lose it', async () => {
    const ben = await member('cli-people', 'owner', 'Ben');
    const id = await ben.idOf();
    const set = ['people', 'set', id, '--account', 'cli-other', '--role'];
    await createKey('PRO', '--account', 'cli-other');
    expect(await text(...set, 'EDITOR')).to.equal(`${id} is editor of cli-other\n`);
    expect(await json(...set, 'admin')).to.deep.include({
      id,
      roles: [
        { account: 'cli-other', role: 'admin', source: 'operator' },
        { account: 'cli-people', role: 'owner', source: 'invitation' },
      ],
    });
    const owner = ['people', 'set', id, '--account', 'cli-people', '--role', 'admin'];
    await expectFailure(owner, 1, 'An account needs an owner');

    const remove = ['people', 'remove', id, '--account', 'cli-other', '--yes'];
    expect(await text(...remove)).to.equal(`Removed: ${id} from cli-other\n`);
    await expectFailure(remove, 1, 'Person not found');
  });

  it('lose all their roles, and their sessions end', async () => {
    const cleo = await member('cli-all', 'viewer', 'Cleo');
    const id = await cleo.idOf();
    await text('people', 'set', id, '--account', 'cli-people', '--role', 'editor');
    expect(await json('people', 'remove', id, '--yes')).to.deep.include({ id, roles: [] });
    expect(await cleo.session()).to.equal(null);
    expect((await listed()).map((person) => person.id)).to.not.include(id);
  });

  it('had their roles at each moment, by the log alone', async () => {
    const dora = await member('cli-as-of', 'viewer', 'Dora');
    const id = await dora.idOf();
    const before = new Date().toISOString();
    await text('people', 'set', id, '--account', 'cli-as-of', '--role', 'admin');
    const set = new Date().toISOString();
    await text('people', 'remove', id, '--account', 'cli-as-of', '--yes');
    const asOf = async (time: string) =>
      (await json('audit', 'as-of', time, '--people', 'cli-as-of')) as {
        readonly people: readonly Record<string, unknown>[];
      };
    const [first] = (await asOf(before)).people;
    expect(first).to.include({ id, name: 'Dora', role: 'viewer', source: 'invitation' });
    expect((await asOf(new Date().toISOString())).people).to.deep.equal([]);
    const printed = await text('audit', 'as-of', set, '--people', 'cli-as-of');
    expect(printed).to.match(/\nPERSON +NAME +ROLE +SOURCE +ADDED\n/);
    const addedAt = String(first?.['addedAt']);
    expect(printed).to.include(`\n${id}  Dora  admin  operator  ${addedAt}\n`);
    const none = await linklog('audit', 'as-of', set, '--people', 'cli-unknown');
    expect(none.stdout).to.include(`no person had a role in the account cli-unknown`);
  });
});
