import { expect } from 'chai';
import type { ConsoleSession } from '../../../schemas/http/console.js';
import { fixture } from '../support/fixture.js';
import { Browser, startIdentityProvider, type Claims } from '../support/identity-provider.js';
import { productFixture } from './harness.js';

const maria: Claims = {
  ...{ sub: 'maria', name: 'María', email: 'maria@example.com', email_verified: true },
};

describe('people', () => {
  const provider = fixture(startIdentityProvider, (started) => started.stop());
  const bench = productFixture(() => ({
    ...provider.env,
    OIDC_SCOPES: 'openid profile email groups',
    OIDC_ROLES: 'acme-owners=acme:owner,acme-editors=acme:editor,ops=operator,audit=auditor',
  }));
  before(() => {
    provider.register(bench.product);
  });

  const session = async (browser: Browser, listener = bench.product.api) => {
    const response = await browser.get(`${listener}/console/session`);
    return response.status === 200 ? (response.json() as ConsoleSession) : null;
  };

  it('sign in with the roles of their groups', async () => {
    const { browser, response } = await provider.signIn(bench.product.api, {
      ...maria,
      groups: ['acme-owners'],
    });
    expect(response.url, response.text).to.equal(`${bench.product.api}/console`);
    const found = await session(browser);
    expect(found?.account).to.equal('acme');
    expect(found?.person).to.deep.equal({
      role: 'owner',
      accounts: [{ account: 'acme', role: 'owner' }],
    });
  });
});
