/** `/s/<token>`: shared statistics as a page or as JSON, without a key. */
import type { Context, Next } from 'koa';
import { timingSafeEqual } from 'node:crypto';
import { clientAddress, networkOf, type ProxyTrust } from '../../ops/http/client-address.js';
import { readForm } from '../../ops/http/form-body.js';
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
import { failure, json, prefers, send, type Reply } from '../http/reply.js';
import { queryOf } from '../http/requests.js';
import { incompleteStats } from '../statistics/route.js';
import { findLinkStats } from '../statistics/statistics.js';
import { pageLanguages, pagesIn, type SharedStats } from './page.js';
import { hashShareToken, linkDeleted } from './route.js';

/** Requests and wrong passwords of the last minute: see `working-state.ts`. */
export const shareAttempts = 'ledger.share_tries';

/** Requests in a minute for each address and each token, in all processes. */
const maxRequests = 60;
const maxWrongPasswords = 10;
/** Seconds that a right password is valid. */
const cookieSeconds = 86_400;
const cookieName = 'linklog_share';
const maxFormBytes = 4_096;

const headers = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
};
const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);
const formRefusals = {
  wrongContentType: failure(415, messages.formContentType),
  tooLarge: failure(413, messages.bodyTooLarge),
  invalidUtf8: failure(400, messages.formEncoding),
};
const notFound = failure(404, messages.shareNotFound);
const basicRealm = { 'WWW-Authenticate': 'Basic realm="Linklog", charset="UTF-8"' };

interface View {
  readonly isJson: boolean;
  readonly pages: (typeof pagesIn)['en'];
}

const tooMany = (message: string, waitMs: number): Reply => {
  const retryAfter = Math.max(1, Math.ceil(waitMs / 1_000));
  return { ...failure(429, message, { 'Retry-After': String(retryAfter) }), retryAfter };
};

const html = (status: number, { html: body, securityPolicy }: Page): Reply => ({
  ...{ type: 'raw', status, contentType: 'text/html; charset=utf-8', body },
  headers: { 'Content-Security-Policy': securityPolicy },
});

/** The password of `Authorization: Basic`; the user name is ignored. */
const basicPassword = (header = ''): string | null => {
  const [, encoded = ''] = /^Basic +([\w+/=-]+) *$/i.exec(header) ?? [];
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
  const wrongPasswords = new Throttle(pool, shareAttempts, maxWrongPasswords);
  const passwords = new PasswordCheck(hashes, wrongPasswords, deps.passwords);
  /** Refuses a flood without PostgreSQL, and bounds the requests of a client that wait for it. */
  const local = new GuessThrottle(maxRequests);

  /** Counts a request. @returns 429 if it exceeds the limit */
  const limit = async (subject: 'address' | 'token', name: string): Promise<Reply | null> => {
    const now = performance.now();
    const key = `${subject} ${name}`;
    const localMs = local.waitMs(key, now);
    if (localMs > 0) return tooMany(messages.rateLimited, localMs);
    local.countWrong(key, now);
    const client = { subject, hash: await hashes.of(subject, name) };
    const admission = await requests.admit(client);
    if (admission.type === 'throttled') return tooMany(messages.rateLimited, admission.waitMs);
    await requests.recordVerdict(client, 'wrong');
    return null;
  };

  /** Proves until `endsAt` (s) that the password was right. */
  const proofOf = async ({ tokenHash, passwordHash }: Share, endsAt: number): Promise<string> => {
    const proof = await hashes.of('cookie', `${tokenHash} ${passwordHash ?? ''} ${endsAt}`);
    return `${endsAt}.${proof.toString('base64url')}`;
  };

  const hasProof = async (ctx: Context, share: Share): Promise<boolean> => {
    const given = ctx.cookies.get(cookieName) ?? '';
    const endsAt = Number(/^\d{10}(?=\.)/.exec(given)?.[0] ?? 0);
    const leftSeconds = endsAt - Date.now() / 1_000;
    if (leftSeconds <= 0 || leftSeconds > cookieSeconds) return false;
    const [actual, expected] = [Buffer.from(given), Buffer.from(await proofOf(share, endsAt))];
    return actual.byteLength === expected.byteLength && timingSafeEqual(actual, expected);
  };

  const check = async (ctx: Context, passwordHash: string, password: string) => {
    const network = networkOf(clientAddress(ctx.req, trustedProxies));
    const { uncounted } = ctx.state as RequestState;
    return uncounted(passwords.check({ subject: 'password', network, passwordHash, password }));
  };

  /** Refuses a visitor without the password. @returns `null` if the visitor may see the statistics */
  const enter = async (ctx: Context, share: Share, view: View, location: string) => {
    const { passwordHash } = share;
    const isForm = ctx.method === 'POST';
    let password = basicPassword(ctx.headers.authorization);
    if (isForm) {
      const { uncounted } = ctx.state as RequestState;
      const form = await uncounted(readForm(ctx.req, maxFormBytes)).catch((error: unknown) => {
        if (ctx.req.complete) throw error;
        // The client has aborted the request.
        return 'invalidUtf8' as const;
      });
      if (!(form instanceof URLSearchParams)) {
        ctx.set('Connection', 'close');
        return formRefusals[form];
      }
      password = form.get('password') ?? '';
    } else if (passwordHash === null || (await hasProof(ctx, share))) return null;
    if (passwordHash !== null && password === null) {
      return view.isJson
        ? failure(401, messages.sharePassword, basicRealm)
        : html(200, view.pages.password(false));
    }
    const outcome = passwordHash === null ? null : await check(ctx, passwordHash, password ?? '');
    if (outcome?.type === 'throttled') return tooMany(messages.tooManyAttempts, outcome.waitMs);
    if (outcome?.type === 'wrong') {
      return view.isJson
        ? failure(401, messages.sharePassword, basicRealm)
        : html(401, view.pages.password(true));
    }
    if (!isForm) return null;
    const endsAt = Math.floor(Date.now() / 1_000) + cookieSeconds;
    const secure = requestOrigin(ctx.req, trustedProxies)?.startsWith('https:') ? '; Secure' : '';
    const attributes = `Path=${ctx.path}; Max-Age=${cookieSeconds}; HttpOnly; SameSite=Lax${secure}`;
    const cookie = `${cookieName}=${await proofOf(share, endsAt)}; ${attributes}`;
    const seeOther: Reply = {
      ...{ type: 'raw', status: 303, contentType: '', body: null },
      headers: { Location: location, ...(outcome && { 'Set-Cookie': cookie }) },
    };
    return seeOther;
  };

  const respond = async (ctx: Context, view: View): Promise<Reply> => {
    if (!methods.has(ctx.method)) {
      return failure(405, messages.methodNotAllowed, { Allow: [...methods].join(', ') });
    }
    const address = networkOf(clientAddress(ctx.req, trustedProxies));
    const refused = await limit('address', address);
    if (refused) return refused;
    const [, token] = /^\/s\/([\w-]{22})$/.exec(ctx.path) ?? [];
    if (token === undefined) return notFound;
    const [share] = await readShares(pool, 'token_hash', hashShareToken(token));
    if (!share) return notFound;
    const overused = await limit('token', share.tokenHash);
    if (overused) return overused;
    const state = (await readLinkStates(pool, outbox, [share.link])).get(share.link)?.state;
    if (!state || state.status === 'none') return notFound;
    if (state.status === 'deleted') return linkDeleted;
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
    const isShown = share.showDestination && state.status !== 'blocked';
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
    const view = {
      isJson: prefers(ctx, 'application/json', 'text/html'),
      pages: pagesIn[language === 'de' ? 'de' : 'en'],
    };
    const reply = await respond(ctx, view);
    if (reply.type !== 'error' || view.isJson) {
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
