import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  clientAddress,
  networkOf,
  type ProxyTrust,
} from '../../ops/platform/http/client-address.js';
import { deferred } from '../../ops/platform/concurrency/deferred.js';
import { withinDeadline, type Uncounted } from '../../ops/platform/concurrency/deadline.js';
import { namedRequestId, requestIdOf } from '../../ops/platform/http/request-id.js';
import { messages } from '../../schemas/http/errors.js';
import {
  answerEntry,
  answerPreview,
  answerVisit,
  type EntryAnswer,
  type ServedLink,
  type VisitAnswer,
} from '../domain/visit.js';
import type { VisitFacts } from '../domain/visit-facts.js';
import type { ClickBudget } from '../links/click-budget.js';
import type { LinkReader } from '../links/link-reader.js';
import type { PasswordCheck } from '../passwords/password-check.js';
import type { Spool } from '../spool/spool.js';
import { agentOf } from '../visitors/agents.js';
import { partsOf, type Judge } from '../visitors/judge.js';
import {
  queryOf,
  refuseBody,
  refuseMethod,
  sendFailure,
  sendPage,
  sendRedirect,
  sendTooManyAttempts,
} from './answer.js';
import { readForm } from './form-body.js';
import { pages, previewPage } from './pages.js';

/** A password of 100 characters takes 1.2 KB at most, percent-encoded. */
const maxBodyBytes = 4_096;

const formRefusals = {
  wrongContentType: { statusCode: 415, message: messages.formContentType },
  tooLarge: { statusCode: 413, message: messages.bodyTooLarge },
} as const;

export interface VisitDeps {
  readonly links: Pick<LinkReader, 'cached' | 'forget' | 'lookups' | 'read'>;
  readonly clicks: Pick<ClickBudget, 'take'>;
  /** Writes down the visits of links without a limit. */
  readonly spool: Pick<Spool, 'append'>;
  readonly passwords: Pick<PasswordCheck, 'check'>;
  readonly judge: Judge;
  readonly trustedProxies: ProxyTrust;
}

type LinkHandler = (response: ServerResponse, code: string) => Promise<void>;

const readMethods = 'GET, HEAD';

const isBotsRequest = ({ headers }: IncomingMessage): boolean =>
  agentOf(headers['user-agent'] ?? '').bot;

/** Milliseconds until 503, less than the 2 s that a visitor may wait for it. */
const answerWithinMs = 1_800;

/**
 * What visitors of links get. Each function answers the request, or rejects: Overloaded,
 * SpoolUnavailable, DeadlinePassed, errors of PostgreSQL.
 *
 * @param noteOverload called at each password try for which there was no room
 */
export const createVisits = (deps: VisitDeps, noteOverload: () => void) => {
  const { links, clicks, spool, passwords, judge, trustedProxies } = deps;

  const find = async (code: string): Promise<ServedLink | null> =>
    links.cached(code) ?? links.read(code);

  const factsOf = (request: IncomingMessage, link: ServedLink, now: number): VisitFacts =>
    judge.factsOf(judge.visitorOf(partsOf(request), now), link, queryOf(request), now);

  /** Counts the visit where it has to be counted, and then answers it. */
  const act = async (
    response: ServerResponse,
    link: ServedLink,
    answer: VisitAnswer | Exclude<EntryAnswer, { readonly type: 'checkPassword' }>,
    now: number,
  ): Promise<void> => {
    const { code, account, location } = link;
    switch (answer.type) {
      case 'redirect':
        if (answer.counted) {
          const requestId = namedRequestId(response.req.headers['x-request-id']);
          const facts = factsOf(response.req, link, now);
          const kept = deferred();
          spool.append({ code, account, facts, at: now, requestId }, (failure) => {
            if (failure) kept.reject(failure);
            else kept.resolve();
          });
          await kept.promise;
        }
        sendRedirect(response, location);
        return;
      case 'takeClick': {
        const requestId = requestIdOf(response.req.headers['x-request-id']);
        const facts = factsOf(response.req, link, now);
        const outcome = await clicks.take({ code, requestId, facts });
        if (outcome === 'taken') sendRedirect(response, location);
        else {
          // The link in memory is older than this refusal.
          links.forget(code);
          sendFailure(response, outcome);
        }
        return;
      }
      case 'askPassword':
        sendPage(response, 200, pages.passwordForm);
        return;
      case 'conceal':
        sendPage(response, 200, pages.concealed);
        return;
      case 'noPassword':
        refuseMethod(response, readMethods);
        return;
      case 'notFound':
      case 'deleted':
      case 'blocked':
      case 'disabled':
      case 'expired':
        sendFailure(response, answer.type);
        return;
      default: {
        const unknown: never = answer;
        throw new Error(`No answer ${String(unknown)}`);
      }
    }
  };

  const answerFollow = async (response: ServerResponse, link: ServedLink | null): Promise<void> => {
    if (!link) {
      sendFailure(response, 'notFound');
      return;
    }
    const visit = {
      head: response.req.method === 'HEAD',
      bot: isBotsRequest(response.req),
      now: Date.now(),
    };
    await act(response, link, answerVisit(link, visit), visit.now);
  };

  /** GET and HEAD /:shortCode */
  const follow: LinkHandler = (response, code) => {
    const cached = links.cached(code);
    // Nothing of it waits for PostgreSQL.
    if (cached && !cached.limited) return answerFollow(response, cached);
    return withinDeadline(answerWithinMs, async () => {
      await answerFollow(response, cached ?? (await links.read(code)));
    });
  };

  /** POST /:shortCode: the form of a link with a password. */
  const enterPassword = async (
    response: ServerResponse,
    code: string,
    uncounted: Uncounted,
  ): Promise<void> => {
    const link = await find(code);
    if (!link) {
      refuseMethod(response, readMethods);
      return;
    }
    const bot = isBotsRequest(response.req);
    const arrival = { bot, now: Date.now() };
    const before = answerEntry(link, { ...arrival, accepted: false });
    if (before.type !== 'checkPassword') {
      // The body stays unread.
      response.setHeader('Connection', 'close');
      await act(response, link, before, arrival.now);
      return;
    }
    const form = await uncounted(readForm(response.req, maxBodyBytes));
    if (!(form instanceof URLSearchParams)) {
      refuseBody(response, formRefusals[form]);
      return;
    }
    const password = form.get('password') ?? '';
    const network = networkOf(clientAddress(response.req, trustedProxies));
    const { passwordHash } = before;
    // Hashes wait for their turn; each of its statements has a deadline.
    const outcome = await uncounted(passwords.check({ code, passwordHash, password, network }));
    switch (outcome.type) {
      case 'throttled':
        sendTooManyAttempts(response, outcome.waitMs);
        return;
      case 'overloaded':
        noteOverload();
        sendFailure(response, 'unavailable');
        return;
      case 'wrong':
        sendPage(response, 401, pages.wrongPassword);
        return;
      case 'right': {
        // The check took time: a change of the link meanwhile applies.
        const current = (await find(code)) ?? link;
        const checked = { bot, now: Date.now() };
        if (current.passwordHash === null) {
          await act(
            response,
            current,
            answerVisit(current, { ...checked, head: false }),
            checked.now,
          );
          return;
        }
        // The password that was right is that of another version.
        if (current.passwordHash !== passwordHash) {
          sendPage(response, 401, pages.wrongPassword);
          return;
        }
        const after = answerEntry(current, { ...checked, accepted: true });
        if (after.type === 'checkPassword') throw new Error('A right password is checked once');
        await act(response, current, after, checked.now);
        return;
      }
      default: {
        const unknown: never = outcome;
        throw new Error(`No outcome ${String(unknown)}`);
      }
    }
  };

  /** GET and HEAD /:shortCode+ */
  const preview: LinkHandler = async (response, code) => {
    const cached = links.cached(code);
    // Memory does not see a limit used up, and a preview takes no click from the ledger.
    const link = cached && !cached.limited ? cached : await links.read(code);
    const answer = answerPreview(link, Date.now());
    if (answer.type === 'preview') sendPage(response, 200, previewPage(answer));
    else sendFailure(response, answer.type);
  };

  /** Every other method. */
  const refuseOther: LinkHandler = async (response, code) => {
    const hasPassword = ((await find(code))?.passwordHash ?? null) !== null;
    refuseMethod(response, hasPassword ? `${readMethods}, POST` : readMethods);
  };

  const inTime =
    (handler: (...args: [...Parameters<LinkHandler>, Uncounted]) => Promise<void>): LinkHandler =>
    (response, code) =>
      withinDeadline(answerWithinMs, (uncounted) => handler(response, code, uncounted));

  return {
    follow,
    enterPassword: inTime(enterPassword),
    preview: inTime(preview),
    refuseOther: inTime(refuseOther),
  };
};
