/** `/s/<token>`: shared statistics as a page or as JSON, without a key. */
import type { Context, Next } from 'koa';
import { timingSafeEqual } from 'node:crypto';
import { clientAddress, networkOf, type ProxyTrust } from '../../ops/http/client-address.js';
import { formRefusals, readForm } from '../../ops/http/form-body.js';
import type { Page } from '../../ops/http/page.js';
import { PasswordCheck } from '../../ops/http/passwords/password-check.js';
import { ClientHash, Throttle } from '../../ops/http/passwords/throttle.js';
import { requestOrigin } from '../../ops/http/request-origin.js';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import { readLinkStates } from '../../ops/ledger/link-states.js';
import { readShares } from '../../ops/ledger/shares.js';
import type { PasswordHasher } from '../../ops/platform/passwords/password-hasher.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { Share } from '../../schemas/folds/share.js';
import { messages } from '../../schemas/http/errors.js';
import { sharePathOf } from '../../schemas/http/shares.js';
import { readStatsQuery, statsQuery } from '../../schemas/http/statistics.js';
import type { RequestState } from '../http/app.js';
import { GuessThrottle } from '../http/guesses.js';
import {
  failure,
  json,
  prefers,
  seeOther,
  send,
  tooManyRequests,
  type Reply,
} from '../http/reply.js';
import { queryOf } from '../http/requests.js';
import { goneResponses } from '../links/view.js';
import { incompleteStats } from '../statistics/route.js';
import { findLinkStats } from '../statistics/statistics.js';
import { pageLanguages, pagesIn, type Pages, type SharedStats } from './page.js';
import { hashShareToken } from './route.js';

/** Requests and wrong passwords of the last minute, in all processes. */
export const shareAttempts = 'ledger.share_tries';

/** Requests in a minute for each address and each token. */
const maxRequests = 60;
/** Wrong passwords in a minute for each address. */
const maxWrong = 10;
/** Seconds that a right password is valid. */
const cookieSeconds = 86_400;
const cookieName = 'linklog_share';

const headers = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
};
const methods: readonly string[] = ['GET', 'HEAD', 'POST'];
const notFound = failure(404, messages.shareNotFound);
const needsPassword = failure(401, messages.sharePassword, {
  'WWW-Authenticate': 'Basic realm="Linklog", charset="UTF-8"',
});

interface View {
  readonly isJson: boolean;
  readonly pages: Pages;
}

const html = (status: number, { html: body, securityPolicy }: Page): Reply => ({
  ...{ type: 'raw', status, contentType: 'text/html; charset=utf-8', body },
  headers: { 'Content-Security-Policy': securityPolicy },
});

/** The password of `Authorization: Basic`; the user name is ignored. */
export const basicPassword = (authorization = ''): string | null => {
  const [, encoded = ''] = /^Basic +([\w+/=-]+) *$/i.exec(authorization) ?? [];
  const text = Buffer.from(encoded, 'base64').toString();
  return text.includes(':') ? text.slice(text.indexOf(':') + 1) : null;
};

export const sharedStatistics = (deps: {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly passwords: Pick<PasswordHasher, 'ensureCapacity' | 'verify'>;
  readonly trustedProxies: ProxyTrust;
}) => {
  const { pool, outbox, trustedProxies } = deps;
  const hashes = new ClientHash(pool, 'ledger.share_key');
  const requests = new Throttle(pool, shareAttempts, maxRequests);
  const wrong = new Throttle(pool, shareAttempts, maxWrong);
  const passwords = new PasswordCheck(hashes, wrong, deps.passwords);
  /** Refuses a flood without PostgreSQL, and bounds the requests of a client that wait for it. */
  const local = new GuessThrottle(maxRequests);
  const clientOf = ({ req }: Context): string => networkOf(clientAddress(req, trustedProxies));

  /** Counts a request. @returns 429 if it exceeds the limit */
  const limit = async (subject: 'address' | 'token', name: string): Promise<Reply | null> => {
    const [key, now] = [`${subject} ${name}`, performance.now()];
    const localMs = local.waitMs(key, now);
    if (localMs > 0) return tooManyRequests(messages.rateLimited, localMs);
    local.countWrong(key, now);
    const client = { subject, hash: await hashes.of(subject, name) };
    const admission = await requests.admit(client);
    if (admission.type === 'throttled')
      return tooManyRequests(messages.rateLimited, admission.waitMs);
    await requests.recordVerdict(client, 'wrong');
    return null;
  };

  /** Proves until `endsAt` (s) that the password was right. */
  const proofOf = async ({ tokenHash, passwordHash }: Share, endsAt: number): Promise<string> => {
    const proof = await hashes.of('cookie', `${tokenHash} ${passwordHash ?? ''} ${endsAt}`);
    return `${endsAt}.${proof.toString('base64url')}`;
  };

  const hasProof = async (ctx: Context, share: Share): Promise<boolean> => {
    const given = Buffer.from(ctx.cookies.get(cookieName) ?? '');
    const endsAt = Number.parseInt(given.toString(), 10);
    const seconds = endsAt - Date.now() / 1_000;
    if (!(seconds > 0 && seconds <= cookieSeconds)) return false;
    const expected = Buffer.from(await proofOf(share, endsAt));
    return given.byteLength === expected.byteLength && timingSafeEqual(given, expected);
  };

  /** @returns `null` if the visitor may see the statistics. @param location of the page after a form */
  const enter = async (ctx: Context, share: Share, view: View, location: string) => {
    const { passwordHash } = share;
    const { uncounted } = ctx.state as RequestState;
    const isForm = ctx.method === 'POST';
    if (!isForm && (passwordHash === null || (await hasProof(ctx, share)))) return null;
    let password = basicPassword(ctx.headers.authorization);
    if (isForm) {
      const form = await uncounted(readForm(ctx.req)).catch((error: unknown) => {
        if (ctx.req.complete) throw error;
        // The client has aborted the request.
        return 'invalidUtf8' as const;
      });
      if (!(form instanceof URLSearchParams)) {
        ctx.set('Connection', 'close');
        return failure(formRefusals[form].statusCode, formRefusals[form].message);
      }
      password = form.get('password') ?? '';
    }
    if (passwordHash === null) return seeOther(location);
    const ask = (isWrong: boolean): Reply =>
      view.isJson ? needsPassword : html(isWrong ? 401 : 200, view.pages.password(isWrong));
    if (password === null) return ask(false);
    const attempt = { subject: 'password', network: clientOf(ctx), passwordHash, password };
    const outcome = await uncounted(passwords.check(attempt));
    if (outcome.type === 'throttled')
      return tooManyRequests(messages.tooManyAttempts, outcome.waitMs);
    if (outcome.type === 'wrong') return ask(true);
    if (!isForm) return null;
    const proof = await proofOf(share, Math.floor(Date.now() / 1_000) + cookieSeconds);
    const secure = requestOrigin(ctx.req, trustedProxies)?.startsWith('https:') ? '; Secure' : '';
    const terms = `Path=${ctx.path}; Max-Age=${cookieSeconds}; HttpOnly; SameSite=Lax${secure}`;
    return seeOther(location, { 'Set-Cookie': `${cookieName}=${proof}; ${terms}` });
  };

  const respond = async (ctx: Context, view: View): Promise<Reply> => {
    if (!methods.includes(ctx.method)) {
      return failure(405, messages.methodNotAllowed, { Allow: methods.join(', ') });
    }
    const limited = await limit('address', clientOf(ctx));
    if (limited) return limited;
    const [, token] = /^\/s\/([\w-]{22})$/.exec(ctx.path) ?? [];
    if (token === undefined) return notFound;
    const [share] = (await readShares(pool, 'token_hash', hashShareToken(token))).values();
    if (!share) return notFound;
    const overused = await limit('token', share.tokenHash);
    if (overused) return overused;
    const { state } = (await readLinkStates(pool, outbox, [share.link])).get(share.link) ?? {};
    if (state?.status === 'deleted') return goneResponses.deleted;
    const query = queryOf(ctx);
    if (query.type === 'refused') return query.reply;
    const { tz } = query.value;
    const request = readStatsQuery(statsQuery, { include: 'all', tz }, new Date());
    if ('refused' in request) return failure(400, request.refused);
    const zone = tz === undefined ? '' : `?tz=${encodeURIComponent(request.period.tz)}`;
    const closed = await enter(ctx, share, view, ctx.path + zone);
    if (closed) return closed;
    const include = new Set([...request.include].filter((name) => name !== 'uniques'));
    const found = await findLinkStats(pool, outbox, share.link, { ...request, include });
    if (found === 'incomplete') return incompleteStats;
    if (!found) return notFound;
    const { url, ...rest } = found.stats;
    // The destination of a blocked link may be harmful.
    const isShown = share.showDestination && state?.status !== 'blocked';
    const stats: SharedStats = { ...rest, ...(isShown && { url }) };
    return view.isJson ? json(200, stats) : html(200, view.pages.statistics(stats));
  };

  return async (ctx: Context, next: Next): Promise<void> => {
    if (sharePathOf(ctx.path) === null) {
      await next();
      return;
    }
    Object.assign((ctx.state as RequestState).headers, headers);
    const language = ctx.acceptsLanguages([...pageLanguages]);
    const isJson = prefers(ctx, 'application/json', 'text/html');
    const view = { isJson, pages: pagesIn[language === 'de' ? 'de' : 'en']() };
    const reply = await respond(ctx, view);
    if (reply.type !== 'error' || isJson) {
      send(ctx, reply);
      return;
    }
    const page = html(
      reply.status,
      view.pages.error(reply.status, reply.message, reply.retryAfter),
    );
    send(ctx, { ...page, headers: { ...reply.headers, ...page.headers } });
  };
};
