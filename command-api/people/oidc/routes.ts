/** `/console/oidc/*`: people sign in with the identity provider. */
import type { Context } from 'koa';
import { z } from 'zod';
import { readForm, formRefusals } from '../../../ops/http/form-body.js';
import { roleHash } from '../../../ops/ledger/people.js';
import type { Logger } from '../../../ops/platform/logging.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import { messages } from '../../../schemas/http/errors.js';
import type { RequestState } from '../../http/app.js';
import { withBody } from '../../http/row-handlers.js';
import { failure, json, seeOther, unavailable, type Reply } from '../../http/reply.js';
import type { Handler, Route } from '../../http/requests.js';
import { browserOf, type SessionCookie } from '../../console/server/session.js';
import { findKeyBySecret } from '../../console/server/console-keys.js';
import type { ConsoleSessions } from '../../console/server/console-sessions.js';
import type { People } from '../handler.js';
import { accountRolesOf, installationRoleOf } from '../view.js';
import {
  callbackPath,
  clearStart,
  keepStart,
  readStart,
  type SignInStart,
} from './challenge-cookie.js';
import { rolesOfGroups } from './groups.js';
import { ProviderUnavailable, type Identity, type Provider } from './provider.js';

/** Sign-ins of a process that wait for the provider. */
const maxWaiting = 50;
const maxLogoutBytes = 65_536;

const startRequest = z.object(
  { invitation: z.string({ error: 'invitation must be a text' }).max(64) },
  { error: 'Give invitation' },
);

/** A page of text, because a browser shows it. */
const text = (
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Reply => ({
  ...{ type: 'raw', status, contentType: 'text/plain; charset=utf-8', body: `${message}\n` },
  headers,
});

const providerUnavailable = unavailable(messages.providerUnavailable);

/** The reason of a failed flow, from the provider or the library, as one line. */
const reasonOf = (error: unknown): string => {
  const { message, cause } = error as Error & { readonly cause?: { readonly message?: string } };
  const reason = `${message}${cause?.message === undefined ? '' : `: ${cause.message}`}`;
  return reason.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 300);
};

interface OidcDeps {
  readonly pool: Pool;
  readonly people: People;
  readonly provider: Provider;
  readonly logger: Logger;
  readonly cookie: SessionCookie;
  readonly sessions: ConsoleSessions;
  /** The origin of this console for a client of a request. */
  readonly originOf: (ctx: Context) => string;
  readonly listener: 'api' | 'admin';
}

/** The routes of one console, and the end of a session at the provider. */
export const createOidc = (deps: OidcDeps) => {
  const { pool, people, provider, logger, cookie, sessions, originOf, listener } = deps;
  const { settings } = provider;
  let waiting = 0;

  /** Waits for the provider, which may take longer than a request. */
  const wait = async (
    state: RequestState,
    work: () => Promise<Reply>,
    refusal: Reply,
  ): Promise<Reply> => {
    if (waiting >= maxWaiting) return refusal;
    waiting += 1;
    try {
      return await state.uncounted(work());
    } catch (error) {
      if (!(error instanceof ProviderUnavailable)) throw error;
      logger.warn({ reason: reasonOf(error) }, 'the identity provider is unavailable');
      return refusal;
    } finally {
      waiting -= 1;
    }
  };

  const start = async (ctx: Context, asked: Pick<SignInStart, 'account' | 'invitation'>) => {
    const redirectUri = originOf(ctx) + callbackPath;
    const { location, challenge } = await provider.start(redirectUri);
    return { location, cookies: keepStart({ ...challenge, redirectUri, ...asked }) };
  };

  const startPage: Handler<RequestState> = (ctx, state) => {
    const { account } = ctx.query;
    const asked = {
      account: typeof account === 'string' ? account.slice(0, 64) : null,
      invitation: null,
    };
    const work = async (): Promise<Reply> => {
      const { location, cookies } = await start(ctx, asked);
      return seeOther(location, cookies);
    };
    return wait(state, work, text(503, messages.providerUnavailable, { 'Retry-After': '1' }));
  };

  const startInvited = withBody(startRequest, async ({ invitation }, state, ctx) => {
    const invited = await people.invitationOf(invitation);
    if (!invited) return failure(404, messages.invitationNotFound);
    const { account, role } = invited;
    const work = async (): Promise<Reply> => {
      const { location, cookies } = await start(ctx, { account, invitation });
      return json(200, { location, account, role }, cookies);
    };
    return wait(state, work, providerUnavailable);
  });

  /** The account of a new session: the invited or requested one, the last one, or the first. */
  const chooseAccount = async (
    id: string,
    accounts: readonly string[],
    wanted: readonly (string | null)[],
  ): Promise<string | null> => {
    const { rows } = await pool.query<{ last: string | null }>(
      'SELECT last_account AS last FROM ledger.people WHERE id = $1',
      [id],
    );
    const first = accounts[0] ?? null;
    return (
      [...wanted, rows[0]?.last ?? null].find(
        (account) => account !== null && accounts.includes(account),
      ) ?? first
    );
  };

  const signIn = async (
    ctx: Context,
    state: RequestState,
    identity: Identity,
    begun: SignInStart,
  ): Promise<Reply> => {
    const { groups, sid, idToken, ...profile } = identity;
    const cleared = clearStart(begun);
    if (groups === null && settings.roles.length > 0) {
      const claim = settings.groupsClaim.join('.');
      logger.warn({ claim }, 'the identity provider sent no groups: the roles of groups stay');
    }
    const outcome = await people.signIn({
      profile,
      groupRoles: groups && rolesOfGroups(groups, settings.roles),
      invitation: begun.invitation,
      mayGetAccount: settings.opensAccounts && listener === 'api',
      request: { requestId: state.requestId, traceparent: state.traceparent },
    });
    if (outcome.type !== 'signedIn') {
      return outcome.type === 'invitationInvalid'
        ? text(404, messages.invitationNotFound, cleared)
        : text(403, messages.invitationOfAnother, cleared);
    }
    const { id, person, invitedTo } = outcome;
    const accounts = accountRolesOf(person).map(({ account }) => account);
    const account =
      listener === 'api'
        ? await chooseAccount(id, accounts, [invitedTo, begun.account])
        : installationRoleOf(person) && '';
    if (account === null) return text(403, messages.noAccess, cleared);
    const boundTo = roleHash(id, account);
    if (listener === 'api' && !(await findKeyBySecret(pool, boundTo))) {
      return text(403, messages.accountDeactivated, cleared);
    }
    const actor = listener === 'api' ? null : (person.name ?? id);
    const token = await sessions.start(pool, {
      ...{ boundTo, actor, browser: browserOf(ctx) },
      person: { id, account, sid, idToken },
    });
    await sessions.end(cookie.read(ctx));
    const session = cookie.keep(ctx, token)['Set-Cookie'];
    ctx.set('Set-Cookie', [cleared['Set-Cookie'], session]);
    // The page reads the session itself: browsers do not send a `Strict` cookie after a redirect from another site.
    return seeOther('/console');
  };

  const callback: Handler<RequestState> = (ctx, state) => {
    const begun = readStart(ctx);
    if (!begun)
      return text(
        400,
        'This sign-in was not started here, or more than 10 minutes ago. Start it again.',
      );
    const cleared = clearStart(begun);
    const work = async (): Promise<Reply> => {
      let identity;
      try {
        identity = await provider.finish(new URL(begun.redirectUri + ctx.search), begun);
      } catch (error) {
        if (error instanceof ProviderUnavailable) throw error;
        logger.warn({ reason: reasonOf(error) }, 'a sign-in failed');
        return text(400, `The sign-in failed: ${reasonOf(error)}`, cleared);
      }
      return signIn(ctx, state, identity, begun);
    };
    return wait(
      state,
      work,
      text(503, messages.providerUnavailable, { 'Retry-After': '1', ...cleared }),
    );
  };

  /** OpenID Connect Back-Channel Logout: for sessions of both consoles. */
  const logout: Handler<RequestState> = async (ctx, state) => {
    const form = await state.uncounted(readForm(ctx.req, maxLogoutBytes));
    if (!(form instanceof URLSearchParams)) {
      ctx.set('Connection', 'close');
      return failure(formRefusals[form].statusCode, formRefusals[form].message);
    }
    const work = async (): Promise<Reply> => {
      const ended = await provider.readLogout(form.get('logout_token') ?? '');
      if (!ended) return failure(400, 'The logout token is invalid');
      await sessions.endOfProvider(settings.issuer, ended);
      return json(200, {});
    };
    return wait(state, work, providerUnavailable);
  };

  const routes: readonly Route<RequestState>[] = [
    { method: 'GET', path: '/oidc/start', handler: startPage },
    // Operators are not invited.
    ...(listener === 'api'
      ? [{ method: 'POST', path: '/oidc/start', handler: startInvited } as const]
      : []),
    { method: 'GET', path: '/oidc/callback', handler: callback },
    { method: 'POST', path: '/oidc/logout', handler: logout },
  ];
  return {
    routes,
    /** Where the browser of a session ends that of the provider; `null`: nowhere. */
    endOf: async (ctx: Context, state: RequestState): Promise<string | null> => {
      const idToken = await sessions.idTokenOf(cookie.read(ctx));
      if (idToken === null) return null;
      return state.uncounted(provider.endSession(idToken, `${originOf(ctx)}/console`));
    },
  };
};
