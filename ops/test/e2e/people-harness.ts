import { expect } from 'chai';
import type { ConsoleSession } from '../../../schemas/http/console.js';
import type { MeResponse, PersonResponse } from '../../../schemas/http/people.js';
import type { HttpResponse } from '../support/http.js';
import type { Browser, Claims, IdentityProvider } from '../support/identity-provider.js';
import type { Bench } from './harness.js';

let people = 0;

/** The claims of a new person. */
export const newPerson = (claims: Partial<Claims> = {}): Claims => {
  people += 1;
  const sub = `person-${people}`;
  return {
    sub,
    name: `Person ${people}`,
    email: `${sub}@example.com`,
    email_verified: true,
    ...claims,
  };
};

/** People at the consoles of a product. */
export const peopleAt = (bench: Bench, provider: IdentityProvider) => {
  /** Sends a request as a page of a console. */
  const ask = (
    browser: Browser,
    method: string,
    path: string,
    body?: unknown,
    listener = bench.product.api,
  ): Promise<HttpResponse> =>
    browser.get(listener + path, {
      method,
      headers: { Origin: listener },
      ...(body !== undefined && { body }),
    });

  const sessionOf = async (browser: Browser, listener?: string): Promise<ConsoleSession | null> => {
    const response = await ask(browser, 'GET', '/console/session', undefined, listener);
    return response.status === 200 ? (response.json() as ConsoleSession) : null;
  };

  /** Signs a person in, which must succeed. */
  const signIn = async (
    claims: Claims,
    options: Parameters<IdentityProvider['signIn']>[2] = {},
    listener = bench.product.api,
  ) => {
    const { browser, response } = await provider.signIn(listener, claims, options);
    expect(response.url, response.text).to.equal(`${listener}/console`);
    const me = async (): Promise<MeResponse> =>
      (await ask(browser, 'GET', '/console/v2/me')).json() as MeResponse;
    return {
      browser,
      me,
      session: () => sessionOf(browser, listener),
      ask: (method: string, path: string, body?: unknown) =>
        ask(browser, method, path, body, listener),
      idOf: async (): Promise<string> => ((await me()) as { id: string }).id,
    };
  };

  /** Signs a person in, which must fail. @returns the status and the text */
  const refused = async (
    claims: Claims | null,
    options: Parameters<IdentityProvider['signIn']>[2] = {},
    listener = bench.product.api,
  ) => {
    const { browser, response } = await provider.signIn(listener, claims, options);
    return [response.status, response.text.trim(), await sessionOf(browser, listener)] as const;
  };

  const peopleOf = async (key: string): Promise<readonly PersonResponse[]> =>
    ((await bench.api('/v2/people', key)).json() as { people: PersonResponse[] }).people;

  /** Invites with a key. @returns the token */
  const invite = async (
    key: string,
    body: object,
  ): Promise<{ readonly id: string; readonly token: string }> => {
    const response = await bench.api('/v2/people/invitations', key, { method: 'POST', body });
    expect(response.status, response.text).to.equal(201);
    const { id, url } = response.json() as { id: string; url: string };
    return { id, token: url.split('#i=')[1] ?? '' };
  };

  /** Starts the acceptance of an invitation. @returns where the browser goes */
  const begin = async (browser: Browser, invitation: string): Promise<string> => {
    const response = await ask(browser, 'POST', '/console/oidc/start', { invitation });
    expect(response.status, response.text).to.equal(200);
    return (response.json() as { location: string }).location;
  };

  return { ask, sessionOf, signIn, refused, peopleOf, invite, begin };
};
