import { createServer, type RequestListener, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Provider, { type ClientMetadata, type KoaContextWithOIDC } from 'oidc-provider';
import type { Product } from './product.js';
import { sendRequest, type HttpResponse } from './http.js';

/** The claims of a person; `sub` identifies it. */
export type Claims = Readonly<Record<string, unknown>> & { readonly sub: string };

export const clientId = 'linklog';
export const clientSecret = 'the-secret-of-the-client';

/** Cookies of one browser, by origin and name. */
export class Browser {
  readonly #cookies = new Map<string, string>();

  /** Requests a page as a top-level navigation. Redirects are not followed. */
  async get(
    url: string,
    options: { method?: string; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<HttpResponse> {
    const { origin } = new URL(url);
    const cookie = this.cookieOf(origin);
    const response = await sendRequest(url, {
      ...options,
      headers: { ...(cookie !== '' && { Cookie: cookie }), ...options.headers },
    });
    for (const line of response.headers['set-cookie'] ?? []) {
      const [pair = '', ...attributes] = line.split(';');
      const [name = '', value = ''] = pair.split(/=(.*)/);
      const isGone = attributes.some((text) => /^\s*max-age=0$/i.test(text)) || value === '';
      if (isGone) this.#cookies.delete(`${origin} ${name}`);
      else this.#cookies.set(`${origin} ${name}`, value);
    }
    return response;
  }

  cookieOf(origin: string): string {
    return [...this.#cookies]
      .filter(([key]) => key.startsWith(`${origin} `))
      .map(([key, value]) => `${key.slice(origin.length + 1)}=${value}`)
      .join('; ');
  }

  /** Follows redirects up to the first other response. */
  async follow(
    url: string,
    isEnd: (next: string) => boolean = () => false,
  ): Promise<HttpResponse & { readonly url: string }> {
    let at = url;
    for (let step = 0; step < 12; step += 1) {
      const response = await this.get(at);
      const { location } = response.headers;
      if (location === undefined) return Object.assign(response, { url: at });
      at = new URL(location, at).href;
      if (isEnd(at)) return Object.assign(response, { url: at });
    }
    throw new Error(`too many redirects from ${url}`);
  }
}

/** A certified OpenID provider on this machine, which signs people in without asking. */
export const startIdentityProvider = async () => {
  let listener: RequestListener = (_request, response) => response.writeHead(503).end();
  const server: Server = createServer((request, response) => {
    listener(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const people = new Map<string, Claims>();
  let current: string | null = null;
  let serve: RequestListener = listener;
  let registered: Provider | undefined;

  return {
    issuer,
    /** The environment of a product that uses the provider. */
    env: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: clientId,
      OIDC_CLIENT_SECRET: clientSecret,
      OIDC_NAME: 'Acme',
    },
    /** Registers the consoles of a product. */
    register(
      { apis, admins }: Pick<Product, 'apis' | 'admins'>,
      more: Partial<ClientMetadata> = {},
    ): void {
      const origins = [...apis, ...admins];
      const provider = new Provider(issuer, {
        clients: [
          {
            client_id: clientId,
            client_secret: clientSecret,
            redirect_uris: origins.map((origin) => `${origin}/console/oidc/callback`),
            post_logout_redirect_uris: origins.map((origin) => `${origin}/console`),
            backchannel_logout_uri: `${apis[0] ?? ''}/console/oidc/logout`,
            ...more,
          },
        ],
        claims: {
          openid: ['sub'],
          profile: ['name'],
          email: ['email', 'email_verified'],
          groups: ['groups'],
        },
        conformIdTokenClaims: false,
        features: {
          devInteractions: { enabled: false },
          backchannelLogout: { enabled: true },
          rpInitiatedLogout: {
            // The default page loads fonts of another server.
            logoutSource: (ctx, form) => {
              ctx.body = `<!doctype html>${form}<button form="op.logoutForm" name="logout" value="yes">Yes, sign me out</button>`;
            },
          },
        },
        findAccount: (_ctx, sub) => {
          const claims = people.get(sub);
          return claims && { accountId: sub, claims: () => ({ ...claims }) };
        },
        interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
        loadExistingGrant: async (ctx: KoaContextWithOIDC) => {
          const { Grant } = ctx.oidc.provider;
          const accountId = ctx.oidc.session?.accountId;
          const grant = new Grant({ clientId, ...(accountId !== undefined && { accountId }) });
          grant.addOIDCScope('openid profile email groups');
          await grant.save();
          return grant;
        },
        cookies: { keys: ['a-key-of-the-test'] },
        // Its own fetch refuses addresses of this machine.
        fetch: (url, options) => {
          const { headers, body, method } = options ?? {};
          return fetch(url, { headers, body, method } as RequestInit);
        },
      });
      provider.use(async (ctx, next) => {
        if (!ctx.path.startsWith('/interaction/')) {
          await next();
          return;
        }
        ctx.respond = false;
        const result =
          current === null ? { error: 'access_denied' } : { login: { accountId: current } };
        await provider.interactionFinished(ctx.req, ctx.res, result, {
          mergeWithLastSubmission: false,
        });
      });
      registered = provider;
      const handle = provider.callback();
      serve = (request, response) => void handle(request, response);
      listener = serve;
    },
    /** Ends all sessions of a person at the products, as the provider does when it is disabled there. */
    async endSessions(sub: string): Promise<void> {
      const client = await registered?.Client.find(clientId);
      await (
        client as unknown as { backchannelLogout(sub: string, sid: string): Promise<void> }
      ).backchannelLogout(sub, 'unknown');
    },
    /** Whether the provider works; otherwise it responds as `other` does. */
    replace(other: RequestListener | null): void {
      listener = other ?? serve;
    },
    /** Signs a person in at the provider. @returns the callback, which the browser has not requested yet */
    async authorize(location: string, claims: Claims, browser: Browser) {
      this.become(claims);
      const { url } = await browser.follow(location, (next) =>
        next.includes('/console/oidc/callback'),
      );
      return { browser, callback: url };
    },
    /** Signs in this person from now on; `null`: refuses. */
    become(claims: Claims | null): void {
      if (claims) people.set(claims.sub, claims);
      current = claims?.sub ?? null;
    },
    /** Signs a person in at a console. @param start the path, or the address of an invitation's start */
    async signIn(
      console: string,
      claims: Claims | null,
      {
        browser = new Browser(),
        start = '/console/oidc/start',
      }: { browser?: Browser; start?: string } = {},
    ) {
      this.become(claims);
      const response = await browser.follow(new URL(start, console).href);
      return { browser, response };
    },
    async stop(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

export type IdentityProvider = Awaited<ReturnType<typeof startIdentityProvider>>;
