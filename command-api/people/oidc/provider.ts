/** The identity provider, by OpenID Connect: discovery, the authorization code flow with PKCE, and logout. */
import type { ClientAuth, Configuration } from 'openid-client';
import type { SignInWays } from '../../../schemas/http/console.js';
import type { Profile } from '../command.js';
import type { SignInStart } from './challenge-cookie.js';
import { groupsIn, type GroupRole } from './groups.js';

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** `null`: a public client. */
  readonly clientSecret: string | null;
  readonly scopes: string;
  /** The path of the claim with the groups. */
  readonly groupsClaim: readonly string[];
  readonly roles: readonly GroupRole[];
  /** Whether a person without a role gets an account. */
  readonly opensAccounts: boolean;
  /** Of the button. */
  readonly name: string;
}

/** The provider refuses connections, is silent, or fails. */
export class ProviderUnavailable extends Error {
  readonly code = 'PROVIDER_UNAVAILABLE';
}

/** What the browser keeps of a sign-in until the provider sends it back. */
type Challenge = Pick<SignInStart, 'state' | 'nonce' | 'verifier'>;

/** A person at the provider. */
export interface Identity extends Profile {
  /** `null`: the provider sent none. */
  readonly groups: readonly string[] | null;
  /** The session at the provider; `null`: unknown. */
  readonly sid: string | null;
  readonly idToken: string;
}

type Claims = Readonly<Record<string, unknown>>;

const textIn = (claims: Claims, name: string): string | null => {
  const value = claims[name];
  if (typeof value !== 'string') return null;
  const text = value
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
  return text === ''
    ? null
    : Array.from(text.slice(0, 2 * maxText))
        .slice(0, maxText)
        .join('');
};

/** A person can name the address of another one: only a verified address counts. */
const emailIn = (claims: Claims): string | null =>
  claims['email_verified'] === true ? textIn(claims, 'email') : null;

/** Of one request, and of all requests of a sign-in (ms). */
const deadlineMs = 5_000;
const maxResponseBytes = 262_144;
/** Code points of a name or an address that are kept. */
const maxText = 254;
/** How long discovery is valid (ms). */
const discoveryMs = 3_600_000;
/** The clocks of the provider and of Linklog may differ by this much (s). */
const toleranceSeconds = 60;
/** A logout token is younger than this. */
const maxLogoutAge = '2m';

/** Whether the cause of an error is an unavailable provider. */
const isUnavailable = (error: unknown): boolean => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ProviderUnavailable) return true;
  }
  return false;
};

/** Rejects as unavailable after the deadline, and for an unavailable provider. */
const bounded = async <Value>(work: Promise<Value>): Promise<Value> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new ProviderUnavailable(`The provider did not answer within ${deadlineMs} ms`));
    }, deadlineMs);
  });
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    throw isUnavailable(error) ? new ProviderUnavailable('unavailable', { cause: error }) : error;
  } finally {
    clearTimeout(timer);
  }
};

/** Loads the libraries, which only an installation with a provider needs. */
const load = async (settings: OidcSettings) => {
  const [client, jose, undici] = await Promise.all([
    import('openid-client'),
    import('jose'),
    import('undici'),
  ]);
  // Of HTTPS_PROXY, too.
  const dispatcher = new undici.EnvHttpProxyAgent({
    ...{ maxResponseSize: maxResponseBytes, connect: { timeout: deadlineMs } },
    ...{ headersTimeout: deadlineMs, bodyTimeout: deadlineMs },
  });
  const fetchFromProvider = async (url: string, options: object): Promise<Response> => {
    const signal = AbortSignal.timeout(deadlineMs);
    let response;
    try {
      response = await undici.fetch(url, { ...options, redirect: 'manual', signal, dispatcher });
    } catch (cause) {
      throw new ProviderUnavailable(`${new URL(url).origin} does not respond`, { cause });
    }
    if (response.status < 500) return response;
    await response.body?.cancel();
    throw new ProviderUnavailable(`${new URL(url).origin} responds with ${response.status}`);
  };
  const { issuer, clientId, clientSecret } = settings;
  /** With the secret in the header, unless the provider only accepts it in the body. */
  const authenticate: ClientAuth = (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const isBasic = methods.includes('client_secret_basic');
    const method = isBasic ? client.ClientSecretBasic : client.ClientSecretPost;
    (clientSecret === null ? client.None() : method(clientSecret))(server, ...request);
  };
  const discover = (): Promise<Configuration> =>
    client.discovery(
      new URL(issuer),
      clientId,
      { [client.clockTolerance]: toleranceSeconds },
      authenticate,
      {
        timeout: deadlineMs / 1_000,
        [client.customFetch]: fetchFromProvider,
        execute: [
          // Otherwise the library relies on TLS instead of the signature.
          client.enableNonRepudiationChecks,
          // oxlint-disable-next-line typescript/no-deprecated -- http is only for a provider on this machine
          ...(issuer.startsWith('http:') ? [client.allowInsecureRequests] : []),
        ],
      },
    );
  return { client, jose, fetchFromProvider, discover };
};

type Libraries = Awaited<ReturnType<typeof load>>;

export const createProvider = (settings: OidcSettings) => {
  let libraries: Promise<Libraries> | undefined;
  let known: { readonly configuration: Promise<Configuration>; readonly until: number } | undefined;

  /**
   * The libraries, and the configuration of the provider, which is read again after an hour or a failure.
   *
   * @throws ProviderUnavailable also if it is no configuration, or that of another issuer
   */
  const connect = async () => {
    libraries ??= load(settings);
    const loaded = await libraries;
    if (!known || known.until <= performance.now()) {
      const configuration = loaded.discover();
      const read = { configuration, until: performance.now() + discoveryMs };
      known = read;
      configuration.catch(() => {
        if (known === read) known = undefined;
      });
    }
    try {
      return { ...loaded, configuration: await known.configuration };
    } catch (cause) {
      throw new ProviderUnavailable('the configuration of the provider cannot be read', { cause });
    }
  };

  const exchange = async (
    callback: URL,
    { state, nonce, verifier }: Challenge,
  ): Promise<Identity> => {
    const { client, configuration } = await connect();
    const tokens = await client.authorizationCodeGrant(configuration, callback, {
      ...{ pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce },
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (!claims || tokens.id_token === undefined) throw new Error('The provider sent no ID token');
    const { groupsClaim } = settings;
    const isComplete = groupsIn(claims, groupsClaim) && textIn(claims, 'name') && emailIn(claims);
    const hasMore = configuration.serverMetadata().userinfo_endpoint !== undefined;
    const more: Claims =
      isComplete || !hasMore
        ? {}
        : await client.fetchUserInfo(configuration, tokens.access_token, claims.sub);
    const found = <Value>(read: (from: Claims) => Value | null): Value | null =>
      read(claims) ?? read(more);
    return {
      ...{ issuer: claims.iss, identity: claims.sub, email: found(emailIn) },
      name: found((from) => textIn(from, 'name') ?? textIn(from, 'preferred_username')),
      groups: found((from) => groupsIn(from, groupsClaim)),
      sid: typeof claims['sid'] === 'string' ? claims['sid'] : null,
      idToken: tokens.id_token,
    };
  };

  return {
    settings,

    /** The address of a sign-in at the provider, and what the browser must keep. @throws ProviderUnavailable */
    start: (
      redirectUri: string,
    ): Promise<{ readonly location: string; readonly challenge: Challenge }> =>
      bounded(
        (async () => {
          const { client, configuration } = await connect();
          const verifier = client.randomPKCECodeVerifier();
          const challenge = { state: client.randomState(), nonce: client.randomNonce(), verifier };
          const location = client.buildAuthorizationUrl(configuration, {
            ...{ redirect_uri: redirectUri, scope: settings.scopes, code_challenge_method: 'S256' },
            ...{ state: challenge.state, nonce: challenge.nonce },
            code_challenge: await client.calculatePKCECodeChallenge(verifier),
          });
          return { location: location.href, challenge };
        })(),
      ),

    /** Exchanges the code of a callback. @throws ProviderUnavailable; an error of the flow */
    async finish(callback: URL, challenge: Challenge): Promise<Identity> {
      try {
        return await bounded(exchange(callback, challenge));
      } catch (error) {
        // The provider may have replaced its keys: the next sign-in reads them again.
        known = undefined;
        throw error;
      }
    },

    /** Where a browser ends the session at the provider; `null`: the provider has no such page, or is unavailable. */
    async endSession(idToken: string, page: string): Promise<string | null> {
      try {
        const { client, configuration } = await bounded(connect());
        if (configuration.serverMetadata().end_session_endpoint === undefined) return null;
        const parameters = { id_token_hint: idToken, post_logout_redirect_uri: page };
        return client.buildEndSessionUrl(configuration, parameters).href;
      } catch (error) {
        if (error instanceof ProviderUnavailable) return null;
        throw error;
      }
    },

    /** The session or the person that a logout token ends; `null` for an invalid token. @throws ProviderUnavailable */
    readLogout: (
      token: string,
    ): Promise<{ readonly sid: string | null; readonly identity: string | null } | null> =>
      bounded(
        (async () => {
          const { jose, configuration, fetchFromProvider } = await connect();
          const { jwks_uri: jwksUri, issuer } = configuration.serverMetadata();
          if (jwksUri === undefined) return null;
          const keys = jose.createRemoteJWKSet(new URL(jwksUri), {
            timeoutDuration: deadlineMs,
            [jose.customFetch]: fetchFromProvider,
          });
          try {
            const { payload } = await jose.jwtVerify(token, keys, {
              ...{ issuer, audience: settings.clientId, maxTokenAge: maxLogoutAge },
              ...{ clockTolerance: toleranceSeconds, requiredClaims: ['iat', 'jti', 'events'] },
            });
            const { sid, sub, nonce, events } = payload;
            const event = 'http://schemas.openid.net/event/backchannel-logout';
            const isLogout = typeof events === 'object' && events !== null && event in events;
            if (!isLogout || nonce !== undefined) return null;
            if (typeof sid === 'string') return { sid, identity: null };
            return sub === undefined ? null : { sid: null, identity: sub };
          } catch (error) {
            if (isUnavailable(error)) throw error;
            return null;
          }
        })(),
      ),
  };
};

export type Provider = ReturnType<typeof createProvider>;

/** How people sign in to the consoles. */
export interface SignIn {
  /** `null`: no identity provider. */
  readonly provider: Provider | null;
  readonly ways: SignInWays;
}
