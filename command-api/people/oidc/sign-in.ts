/** The ways to sign in to a console, with and without an identity provider. */
import type { Context } from 'koa';
import type { Logger } from '../../../ops/platform/logging.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import type { SignInWays } from '../../../schemas/http/console.js';
import type { ConsoleSessions } from '../../console/server/console-sessions.js';
import type { SessionCookie } from '../../console/server/session.js';
import type { RequestState } from '../../http/app.js';
import type { Route } from '../../http/requests.js';
import type { People } from '../handler.js';
import { createProvider, type OidcSettings } from './provider.js';
import { oidcRoutes, type OidcDeps } from './routes.js';

export interface SignInSettings {
  /** `null`: no identity provider. */
  readonly oidc: OidcSettings | null;
  /** Whether keys and the admin token start sessions. */
  readonly keys: boolean;
}

/** @param originOf the origin of a console for a client of a request */
export const createSignIn = (
  deps: {
    readonly pool: Pool;
    readonly people: People;
    readonly logger: Logger;
    readonly originOf: (ctx: Context) => string;
  },
  { oidc, keys }: SignInSettings,
) => {
  const provider = oidc && createProvider(oidc);
  const ways: SignInWays = { keys, oidc: oidc?.name ?? null };
  return {
    ways,
    isOn: provider !== null,
    routes: (
      console: Pick<OidcDeps, 'cookie' | 'sessions' | 'listener'>,
    ): readonly Route<RequestState>[] =>
      provider ? oidcRoutes({ ...deps, ...console, provider }) : [],
    /** Where the browser of a session ends that of the provider. */
    endOf: (cookie: SessionCookie, sessions: ConsoleSessions) =>
      provider &&
      (async (ctx: Context, state: RequestState): Promise<string | null> => {
        const idToken = await sessions.idTokenOf(cookie.read(ctx));
        if (idToken === null) return null;
        return state.uncounted(provider.endSession(idToken, `${deps.originOf(ctx)}/console`));
      }),
  };
};

export type SignInByProvider = ReturnType<typeof createSignIn>;
