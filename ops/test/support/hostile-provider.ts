import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose';
import { clientId } from './identity-provider.js';

/** What a provider does at one of its addresses. */
type Answer = (response: ServerResponse) => void;

const sendJson = (response: ServerResponse, body: object, status = 200): void => {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
};

/** A provider whose tokens and answers a test forges. */
export const startHostileProvider = async () => {
  const keys = await generateKeyPair('RS256');
  const others = await generateKeyPair('RS256');
  let published = { ...keys, kid: 'first' };
  let forge: (claims: JWTPayload) => JWTPayload = (claims) => claims;
  let answers: Readonly<Record<string, Answer>> = {};
  let algorithm: 'RS256' | 'none' | 'another key' = 'RS256';
  let nonce = '';
  const paths: string[] = [];

  const server = createServer((request, response) => {
    void respond(request.url ?? '', response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const idToken = async (): Promise<string> => {
    const now = Math.floor(Date.now() / 1_000);
    const claims = forge({
      ...{ iss: issuer, aud: clientId, sub: 'mallory', nonce, groups: ['owners'] },
      ...{ iat: now, exp: now + 300 },
    });
    if (algorithm === 'none') return new UnsecuredJWT(claims).encode();
    const { privateKey } = algorithm === 'RS256' ? published : others;
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: published.kid })
      .sign(privateKey);
  };

  const respond = async (url: string, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(url, issuer);
    paths.push(pathname);
    const answer = answers[pathname];
    if (answer) answer(response);
    else if (pathname === '/.well-known/openid-configuration') {
      sendJson(response, {
        ...{ issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` },
        ...{ jwks_uri: `${issuer}/jwks`, userinfo_endpoint: `${issuer}/me` },
        response_types_supported: ['code'],
        id_token_signing_alg_values_supported: ['RS256'],
      });
    } else if (pathname === '/jwks') {
      const key = { ...(await exportJWK(published.publicKey)), kid: published.kid, alg: 'RS256' };
      sendJson(response, { keys: [key] });
    } else if (pathname === '/token') {
      sendJson(response, { access_token: 'a', token_type: 'Bearer', id_token: await idToken() });
    } else if (pathname === '/me') sendJson(response, { sub: 'mallory', name: 'Mallory' });
    else response.writeHead(404).end();
  };

  return {
    issuer,
    /** The paths of the requests so far. */
    paths,
    /** Forges the next sign-ins; without arguments, they are right. */
    forge(
      options: {
        readonly claims?: (claims: JWTPayload) => JWTPayload;
        readonly algorithm?: typeof algorithm;
        readonly answers?: typeof answers;
      } = {},
    ): void {
      forge = options.claims ?? ((claims) => claims);
      algorithm = options.algorithm ?? 'RS256';
      answers = options.answers ?? {};
    },
    /** Publishes another key from now on. */
    async rotate(): Promise<void> {
      published = { ...(await generateKeyPair('RS256')), kid: 'second' };
    },
    /** The address to which the provider sends a browser that began a sign-in. */
    callbackOf(authorization: string, more: Readonly<Record<string, string>> = {}): string {
      const { searchParams } = new URL(authorization);
      nonce = searchParams.get('nonce') ?? '';
      const callback = new URL(searchParams.get('redirect_uri') ?? '');
      const state = searchParams.get('state') ?? '';
      callback.search = new URLSearchParams({ code: 'a-code', state, ...more }).toString();
      return callback.href;
    },
    async stop(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
