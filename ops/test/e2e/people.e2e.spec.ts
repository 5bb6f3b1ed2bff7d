import { expect } from 'chai';
import type { OperatorsPerson } from '../../../schemas/http/people.js';
import { scopesOfRole } from '../../../schemas/roles.js';
import { fixture } from '../support/fixture.js';
import { Browser, startIdentityProvider } from '../support/identity-provider.js';
import { eventuallyPasses } from '../support/waiting.js';
import { productFixture, sharedProduct } from './harness.js';
import { newPerson, peopleAt } from './people-harness.js';

const providerEnv = {
  OIDC_SCOPES: 'openid profile email groups',
  OIDC_ROLES: 'owners=acme:owner,editors=acme:editor,other=beta:viewer,ops=operator,audit=auditor',
};

describe('people without an identity provider', () => {
  const bench = sharedProduct();

  it('do not exist', async () => {
    for (const listener of [bench.product.api, bench.product.admin]) {
      const browser = new Browser();
      expect((await browser.get(`${listener}/console/oidc/start`)).status).to.equal(404);
      const ways = await browser.get(`${listener}/console/session/ways`);
      expect(ways.json()).to.deep.equal({ keys: true, oidc: null });
    }
  });
});

describe('people', () => {
  const provider = fixture(startIdentityProvider, (started) => started.stop());
  const bench = productFixture(() => ({ ...provider.env, ...providerEnv }));
  let at: ReturnType<typeof peopleAt>;
  before(() => {
    provider.register(bench.product);
    at = peopleAt(bench, provider);
  });

  describe('with roles of groups', () => {
    it('get the highest role of their groups in each account', async () => {
      const claims = newPerson({ groups: ['editors', 'owners', 'other', 'unknown'] });
      const { session, me } = await at.signIn(claims);
      const accounts = [
        { account: 'acme', role: 'owner' },
        { account: 'beta', role: 'viewer' },
      ];
      const found = await session();
      expect(found?.person).to.deep.equal({ role: 'owner', accounts });
      expect(found?.account).to.equal('acme');
      const { name, email } = claims;
      expect(await me()).to.deep.include({
        ...{ name, email, account: 'acme', role: 'owner', accounts, scopes: scopesOfRole('owner') },
      });
    });

    it('lose and keep them as the groups of each sign-in say', async () => {
      const claims = newPerson({ groups: ['editors', 'other'] });
      const roles = async (groups?: unknown) => {
        const { session } = await at.signIn({ ...claims, groups });
        return (await session())?.person?.accounts.map(({ account, role }) => `${account} ${role}`);
      };
      expect(await roles(['editors', 'other'])).to.deep.equal(['acme editor', 'beta viewer']);
      expect(await roles(['other'])).to.deep.equal(['beta viewer']);
      expect(await roles('editors')).to.deep.equal(['acme editor']);
      expect(await roles(undefined)).to.deep.equal(['acme editor']);
      expect(bench.product.stderr()).to.contain('the identity provider sent no groups');
      expect(await at.refused({ ...claims, groups: [] })).to.deep.equal([
        ...[403, 'You have no access to this installation', null],
      ]);
    });

    it('cannot be changed or removed by calls', async () => {
      const { key } = await bench.key('FREE', { account: 'acme' });
      const person = await at.signIn(newPerson({ groups: ['editors'] }));
      const id = await person.idOf();
      const refused = [409, 'This role comes from the identity provider'];
      for (const request of [
        () => bench.api(`/v2/people/${id}`, key, { method: 'PATCH', body: { role: 'viewer' } }),
        () => bench.api(`/v2/people/${id}`, key, { method: 'DELETE' }),
        () => bench.admin('PUT', `/admin/people/${id}/roles/acme`, { role: 'viewer' }),
        () => bench.admin('DELETE', `/admin/people/${id}/roles/acme`),
        () => bench.admin('DELETE', `/admin/people/${id}`),
      ]) {
        const response = await request();
        const { message } = response.json() as { message: string };
        expect([response.status, message]).to.deep.equal(refused);
      }
    });
  });

  describe('as the provider identifies them', () => {
    it('have the name of their last sign-in, and no address that is not verified', async () => {
      const claims = newPerson({ groups: ['owners'], email_verified: false });
      expect(await (await at.signIn(claims)).me()).to.deep.include({ email: null });
      const { me } = await at.signIn({ ...claims, name: 'Another name', email_verified: true });
      expect(await me()).to.deep.include({ name: 'Another name', email: claims['email'] });
    });

    it('receive the reason why a sign-in failed, and keep their session', async () => {
      const { browser, session } = await at.signIn(newPerson({ groups: ['owners'] }));
      const { response } = await provider.signIn(bench.product.api, null, {
        browser: new Browser(),
      });
      expect([response.status, response.headers['content-type']]).to.deep.equal([
        ...[400, 'text/plain; charset=utf-8'],
      ]);
      expect(response.text).to.contain('The sign-in failed');
      const path = '/console/oidc/callback?code=a&state=0123456789abcdef0123';
      const unknown = await browser.get(bench.product.api + path);
      expect([unknown.status, unknown.text]).to.deep.equal([
        400,
        'This sign-in was not started here, or more than 10 minutes ago. Start it again.\n',
      ]);
      expect(await session()).to.not.equal(null);
    });
  });

  describe('with an invitation', () => {
    const account = 'gamma';
    let key = '';
    before(async () => {
      ({ key } = await bench.key('PRO', { account }));
    });

    it('accept it once', async () => {
      const { token } = await at.invite(key, { role: 'editor' });
      const browser = new Browser();
      const start = await at.ask(browser, 'POST', '/console/oidc/start', { invitation: token });
      expect(start.json()).to.deep.include({ account, role: 'editor' });
      const second = new Browser();
      const late = await at.begin(second, token);
      const claims = newPerson();
      const person = await at.signIn(claims, { browser, start: await at.begin(browser, token) });
      expect((await person.session())?.account).to.equal(account);
      expect(await at.peopleOf(key)).to.deep.include.members([
        {
          ...{ id: await person.idOf(), name: claims['name'], email: claims['email'] },
          ...{ role: 'editor', source: 'invitation' },
          ...(await at.peopleOf(key))
            .map(({ lastSeenAt, createdAt }) => ({ lastSeenAt, createdAt }))
            .at(0),
        },
      ]);
      expect(
        (await at.refused(newPerson(), { browser: second, start: late })).slice(0, 2),
      ).to.deep.equal([...[404, 'Invitation not found']]);
      const again = await at.ask(browser, 'POST', '/console/oidc/start', { invitation: token });
      expect(again.status).to.equal(404);
    });

    it('accept it only with its address, in any case, and leave it pending otherwise', async () => {
      const claims = newPerson({ email: 'Maria@Example.com' });
      const { id, token } = await at.invite(key, { role: 'viewer', email: 'maria@example.COM' });
      for (const wrong of [newPerson(), { ...claims, sub: 'unverified', email_verified: false }]) {
        const browser = new Browser();
        const start = await at.begin(browser, token);
        expect(await at.refused(wrong, { browser, start })).to.deep.equal([
          ...[403, 'The invitation is for another e-mail address', null],
        ]);
      }
      expect((await bench.api(`/v2/people/invitations/${id}`, key)).status).to.equal(200);
      const browser = new Browser();
      await at.signIn(claims, { browser, start: await at.begin(browser, token) });
      expect((await bench.api(`/v2/people/invitations/${id}`, key)).status).to.equal(404);
    });

    it('cannot use a withdrawn invitation, and accounts have at most 100', async () => {
      const { key: other } = await bench.key('PRO', { account: 'many' });
      const { id, token } = await at.invite(other, { role: 'viewer' });
      const path = `/v2/people/invitations/${id}`;
      expect((await bench.api(path, key, { method: 'DELETE' })).status).to.equal(404);
      expect((await bench.api(path, other, { method: 'DELETE' })).status).to.equal(204);
      const browser = new Browser();
      const start = await at.ask(browser, 'POST', '/console/oidc/start', { invitation: token });
      expect(start.status).to.equal(404);
      const role = { role: 'viewer' };
      await Promise.all(Array.from({ length: 100 }, () => at.invite(other, role)));
      const options = { method: 'POST', body: role };
      const more = await bench.api('/v2/people/invitations', other, options);
      expect(more.status, more.text).to.equal(400);
    });

    it('come from keys that have all scopes of the role', async () => {
      const scopes = [...scopesOfRole('viewer'), 'people:manage'] as const;
      const { key: weak } = await bench.key('PRO', { account, scopes });
      await at.invite(weak, { role: 'viewer' });
      const options = { method: 'POST', body: { role: 'editor' } };
      const response = await bench.api('/v2/people/invitations', weak, options);
      expect(response.json()).to.deep.include({ statusCode: 403, scope: 'links:create' });
    });
  });

  describe('in an account', () => {
    it('call with the scopes of their role, and are the actors of their changes', async () => {
      const { key } = await bench.key('PRO', { account: 'delta' });
      const join = async (role: string) => {
        const browser = new Browser();
        const { token } = await at.invite(key, { role });
        return at.signIn(newPerson(), { browser, start: await at.begin(browser, token) });
      };
      const [viewer, editor] = [await join('viewer'), await join('editor')];
      const body = { url: 'https://example.com/of-a-person' };
      const refused = await viewer.ask('POST', '/console/v2/shorten', body);
      expect(refused.json()).to.deep.equal({
        ...{ statusCode: 403, message: 'Your role lacks the scope links:create.' },
        ...{ error: 'Forbidden', scope: 'links:create' },
      });
      const created = await editor.ask('POST', '/console/v2/shorten', body);
      expect(created.status, created.text).to.equal(201);
      const { shortCode } = created.json() as { shortCode: string };
      const id = await editor.idOf();
      const history = await bench.api(`/v2/links/${shortCode}/history`, key);
      const { events, actorNames } = history.json() as {
        events: { actor: string }[];
        actorNames: Record<string, string>;
      };
      expect(events.map(({ actor }) => actor)).to.deep.equal([id]);
      expect(actorNames[id]).to.match(/^Person/);
    });

    it('appear in the feed of the account by their ids alone', async () => {
      const { key } = await bench.key('PRO', { account: 'fed' });
      const browser = new Browser();
      const claims = newPerson();
      const { token } = await at.invite(key, { role: 'viewer', email: claims['email'] });
      await at.signIn(claims, { browser, start: await at.begin(browser, token) });
      await eventuallyPasses(async () => {
        const response = await bench.api('/v2/events', key);
        const { events } = response.json() as { events: { type: string; data: object }[] };
        const found = events.flatMap(({ type, data }) =>
          /Person|Invitation/.test(type) ? [[type.split('.')[1], Object.keys(data)]] : [],
        );
        expect(found).to.have.deep.members([
          ['InvitationCreated', ['role', 'expiresAt']],
          ['PersonAdded', ['issuer', 'role', 'source']],
          ['InvitationAccepted', ['person']],
        ]);
        for (const secret of ['name', 'email', 'sub']) {
          expect(response.text).to.not.contain(claims[secret]);
        }
      });
    });

    it('leave no account without an owner', async () => {
      const { key } = await bench.key('PRO', { account: 'epsilon' });
      const browser = new Browser();
      const { token } = await at.invite(key, { role: 'owner' });
      const owner = await at.signIn(newPerson(), {
        browser,
        start: await at.begin(browser, token),
      });
      const id = await owner.idOf();
      for (const response of [
        await bench.api(`/v2/people/${id}`, key, { method: 'DELETE' }),
        await owner.ask('PATCH', `/console/v2/people/${id}`, { role: 'viewer' }),
        await bench.admin('PUT', `/admin/people/${id}/roles/epsilon`, { role: 'admin' }),
      ]) {
        const { message } = response.json() as { message: string };
        expect([response.status, message]).to.deep.equal([409, 'An account needs an owner']);
      }
    });

    it('manage the keys below its roots within their role, and leave them when they are removed', async () => {
      const root = await bench.key('PRO', { account: 'zeta' });
      const second = await bench.key('FREE', { account: 'zeta' });
      const derived = await bench.api('/v2/keys', second.key, {
        method: 'POST',
        body: { name: 'below' },
      });
      const below = derived.json() as { id: string };
      const browser = new Browser();
      const { token } = await at.invite(root.key, { role: 'admin' });
      const admin = await at.signIn(newPerson(), {
        browser,
        start: await at.begin(browser, token),
      });
      const make = (scopes: readonly string[]) =>
        admin.ask('POST', '/console/v2/keys', { name: 'mine', scopes });
      expect((await make(['people:manage'])).json()).to.deep.include({ scope: 'people:manage' });
      const created = (await make(['links:read'])).json() as {
        id: string;
        rootId: string;
        key: string;
      };
      expect(created.rootId).to.equal(root.id);
      // The key of the second root has a scope that the role lacks.
      const change = (id: string) =>
        admin.ask('PATCH', `/console/v2/keys/${id}`, { name: 'changed' });
      expect((await change(below.id)).status).to.equal(404);
      expect((await change(root.id)).status).to.equal(404);
      expect((await change(created.id)).status).to.equal(200);
      const listed = (await admin.ask('GET', '/console/v2/keys')).json() as {
        keys: { id: string }[];
      };
      expect(listed.keys.map(({ id }) => id)).to.deep.equal([created.id]);
      const id = await admin.idOf();
      const removed = await bench.api(`/v2/people/${id}?revokeKeys=1`, root.key, {
        method: 'DELETE',
      });
      expect(removed.json()).to.deep.equal({ keys: [created.id] });
      expect((await bench.api('/v2/usage', created.key)).status).to.equal(401);
      expect(await admin.session()).to.equal(null);
    });

    it('switch it, and start in the last one', async () => {
      const claims = newPerson({ groups: ['editors', 'other'] });
      const { ask } = await at.signIn(claims);
      const to = (account: string) => ask('PATCH', '/console/session', { account });
      expect((await to('gamma')).status).to.equal(403);
      const switched = await to('beta');
      expect(switched.json()).to.deep.include({ account: 'beta' });
      expect((await (await at.signIn(claims)).session())?.account).to.equal('beta');
      const asked = await at.signIn(claims, { start: '/console/oidc/start?account=acme' });
      expect((await asked.session())?.account).to.equal('acme');
    });

    it('have no session while all its roots are inactive', async () => {
      const { key, id: keyId } = await bench.key('PRO', { account: 'eta' });
      const { token } = await at.invite(key, { role: 'owner' });
      const browser = new Browser();
      const claims = newPerson();
      const { ask, session } = await at.signIn(claims, {
        browser,
        start: await at.begin(browser, token),
      });
      await bench.admin('PATCH', `/admin/keys/${keyId}`, { active: false });
      expect((await ask('GET', '/console/v2/links')).status).to.equal(401);
      expect(await session()).to.equal(null);
      expect(await at.refused(claims)).to.deep.equal([403, 'The account is deactivated', null]);
    });

    it('get the first root key of an account that never had one', async () => {
      const { session } = await at.signIn(newPerson({ groups: ['other'] }));
      expect((await session())?.key.plan).to.equal('FREE');
      const { keys } = (await bench.admin('GET', '/admin/keys?limit=1000')).json() as {
        keys: { name: string; account: string }[];
      };
      const ofBeta = keys.filter(({ account }) => account === 'beta');
      expect(ofBeta.map(({ name }) => name)).to.deep.equal(['people']);
    });
  });

  describe('as operators', () => {
    it('do everything, or only read', async () => {
      const { admin } = bench.product;
      const operator = await at.signIn(newPerson({ groups: ['ops'] }), {}, admin);
      const auditor = await at.signIn(newPerson({ groups: ['audit'] }), {}, admin);
      const body = { name: 'of an operator', plan: 'FREE', account: 'theta' };
      expect((await operator.ask('POST', '/console/admin/keys', body)).status).to.equal(201);
      expect((await auditor.ask('GET', '/console/admin/keys')).status).to.equal(200);
      const refused = await auditor.ask('POST', '/console/admin/keys', body);
      expect([refused.status, (refused.json() as { message: string }).message]).to.deep.equal([
        ...[403, 'Auditors change nothing'],
      ]);
      expect((await auditor.ask('DELETE', '/console/session/all')).status).to.equal(403);
      expect(await at.refused(newPerson({ groups: ['owners'] }), {}, admin)).to.deep.equal([
        ...[403, 'You have no access to this installation', null],
      ]);
      await eventuallyPasses(async () => {
        const changes = await operator.ask('GET', '/console/admin/changes?limit=20');
        const { events, actorNames } = changes.json() as {
          events: { type: string; actor: string; account?: string }[];
          actorNames: Record<string, string>;
        };
        const created = events.find(({ account }) => account === 'theta');
        expect(created?.actor).to.match(/^operator:usr_/);
        expect(actorNames[created?.actor ?? '']).to.match(/^Person/);
      });
    });

    it('give and remove roles', async () => {
      const { key } = await bench.key('PRO', { account: 'iota' });
      const { token } = await at.invite(key, { role: 'owner' });
      const browser = new Browser();
      const person = await at.signIn(newPerson(), {
        browser,
        start: await at.begin(browser, token),
      });
      const id = await person.idOf();
      const path = `/admin/people/${id}/roles/kappa`;
      const given = await bench.admin('PUT', path, { role: 'owner' });
      expect((given.json() as OperatorsPerson).roles).to.deep.equal([
        { account: 'iota', role: 'owner', source: 'invitation' },
        { account: 'kappa', role: 'owner', source: 'operator' },
      ]);
      expect((await bench.admin('DELETE', path)).status).to.equal(409);
      const { key: ofKappa } = await bench.key('PRO', { account: 'kappa' });
      const second = new Browser();
      const invited = await at.invite(ofKappa, { role: 'owner' });
      await at.signIn(newPerson(), {
        browser: second,
        start: await at.begin(second, invited.token),
      });
      expect((await bench.admin('DELETE', path)).status).to.equal(200);
      expect((await bench.admin('DELETE', path)).status).to.equal(404);
    });
  });

  describe('who sign out', () => {
    it('end the session at the provider too', async () => {
      const { browser, ask, session } = await at.signIn(newPerson({ groups: ['owners'] }));
      const response = await ask('DELETE', '/console/session');
      const { location } = response.json() as { location: string };
      expect(location).to.match(/\/session\/end\?/);
      expect(new URL(location).searchParams.get('post_logout_redirect_uri')).to.equal(
        `${bench.product.api}/console`,
      );
      expect((await browser.get(location)).status).to.be.oneOf([200, 303]);
      expect(await session()).to.equal(null);
    });

    it('lose their sessions on both listeners when the provider ends them', async () => {
      const claims = newPerson({ groups: ['owners', 'ops'] });
      const api = await at.signIn(claims);
      const admin = await at.signIn(claims, {}, bench.product.admin);
      const forged = await bench.api('/v2/usage', null);
      expect(forged.status).to.equal(401);
      const invalid = await api.browser.get(`${bench.product.api}/console/oidc/logout`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: 'logout_token=a.b.c',
      });
      expect(invalid.status).to.equal(400);
      await provider.endSessions(claims.sub);
      expect([await api.session(), await admin.session()]).to.deep.equal([null, null]);
    });
  });
});
