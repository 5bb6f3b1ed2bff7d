import { expect } from 'chai';
import type { ConsoleSession } from '../../../schemas/http/console.js';
import type { MeResponse } from '../../../schemas/http/people.js';
import { fixture } from '../support/fixture.js';
import { Browser } from '../support/identity-provider.js';
import { keycloakPrograms, startKeycloak } from '../support/keycloak.js';
import { eventually } from '../support/waiting.js';
import { productFixture, type Bench } from './harness.js';
import { peopleAt } from './people-harness.js';

describe('people of Keycloak', () => {
  const keycloak = fixture(startKeycloak, (started) => started.stop(), {
    needs: keycloakPrograms,
  });

  /** A person in a new browser. */
  const visitorOf = (bench: Bench) => {
    const { ask, sessionOf } = peopleAt(bench, null as never);
    return (name: string, listener = bench.product.api) => {
      const browser = new Browser();
      return {
        browser,
        signIn: () => keycloak.signIn(browser, `${listener}/console/oidc/start`, name),
        session: (): Promise<ConsoleSession | null> => sessionOf(browser, listener),
        me: async (): Promise<MeResponse> =>
          (await ask(browser, 'GET', '/console/v2/me')).json() as MeResponse,
        signOut: () => ask(browser, 'DELETE', '/console/session', undefined, listener),
      };
    };
  };

  describe('with groups', () => {
    const bench = productFixture(() => ({
      ...keycloak.env,
      OIDC_ROLES: 'link-editors=acme:editor',
    }));
    before(() => keycloak.register(bench.product));
    const visitor = visitorOf(bench);

    it('sign in with the roles of their groups, their names and verified addresses', async () => {
      const ben = visitor('ben');
      expect((await ben.signIn()).url).to.equal(`${bench.product.api}/console`);
      expect(await ben.me()).to.deep.include({
        ...{ name: 'ben Test', email: 'ben@example.com', account: 'acme', role: 'editor' },
      });
    });

    it('have no access without a group', async () => {
      const cleo = visitor('cleo');
      const page = await cleo.signIn();
      expect([page.status, page.text.trim()]).to.deep.equal([
        ...[403, 'You have no access to this installation'],
      ]);
      expect(await cleo.session()).to.equal(null);
    });

    it('sign out at Keycloak too', async () => {
      const ben = visitor('ben');
      await ben.signIn();
      const ended = await ben.signOut();
      expect(ended.status).to.equal(200);
      const { location } = ended.json() as { location: string };
      const page = await ben.browser.follow(location);
      expect(page.url).to.equal(`${bench.product.api}/console`);
      expect(await ben.session()).to.equal(null);
      // Keycloak asks for the password again.
      const again = await ben.browser.follow(`${bench.product.api}/console/oidc/start`);
      expect(again.text).to.match(/<form[^>]* action="/);
    });

    it('lose their session when an administrator ends it at Keycloak', async () => {
      // Keycloak ends all sessions of a person, but notifies a client of one of them only.
      await keycloak.signOut('ben');
      const ben = visitor('ben');
      const other = visitor('maria');
      await ben.signIn();
      await other.signIn();
      await keycloak.signOut('ben');
      await eventually('the session ends', async () => (await ben.session()) === null);
      expect(await other.session()).to.not.equal(null);
    });

    it('cannot sign in when they are disabled; their session lasts until Keycloak ends it', async () => {
      const ben = visitor('ben');
      await ben.signIn();
      await keycloak.disable('ben');
      const again = visitor('ben');
      expect((await again.signIn()).text).to.match(/disabled/i);
      expect(await again.session()).to.equal(null);
      expect(await ben.session()).to.not.equal(null);
      await keycloak.signOut('ben');
      await eventually('the session ends', async () => (await ben.session()) === null);
    });
  });

  describe('with realm roles', () => {
    const bench = productFixture(() => ({
      ...keycloak.env,
      OIDC_GROUPS_CLAIM: 'realm_access.roles',
      OIDC_ROLES: 'link-owners=acme:owner,link-auditors=auditor,link-editors=acme:viewer',
    }));
    before(() => keycloak.register(bench.product));
    const visitor = visitorOf(bench);

    it('have the roles of their realm roles, at both consoles', async () => {
      const maria = visitor('maria');
      expect((await maria.signIn()).url).to.equal(`${bench.product.api}/console`);
      expect(await maria.me()).to.deep.include({ account: 'acme', role: 'owner' });
      const auditor = visitor('maria', bench.product.admin);
      expect((await auditor.signIn()).url).to.equal(`${bench.product.admin}/console`);
      expect(await auditor.session()).to.not.equal(null);
    });
  });
});
