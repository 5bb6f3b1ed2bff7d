import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  clientAddress,
  networkOf,
  type ProxyTrust,
} from '../../ops/platform/http/client-address.js';
import { requestIdOf } from '../../ops/platform/http/request-id.js';
import { messages } from '../../schemas/http/errors.js';
import { isBot } from '../domain/bots.js';
import {
  answerEntry,
  answerPreview,
  answerVisit,
  type EntryAnswer,
  type ServedLink,
  type VisitAnswer,
  type VisitRequest,
} from '../domain/visit.js';
import type { ClickBudget } from '../links/click-budget.js';
import type { LinkReader } from '../links/link-reader.js';
import type { PasswordCheck } from '../passwords/password-check.js';
import type { Spool } from '../spool/spool.js';
import {
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
  readonly links: Pick<LinkReader, 'cached' | 'read' | 'forget'>;
  readonly clicks: Pick<ClickBudget, 'take'>;
  /** Writes down the visits of links without a limit. */
  readonly spool: Pick<Spool, 'append'>;
  readonly passwords: Pick<PasswordCheck, 'check'>;
  readonly trustedProxies: ProxyTrust;
}

type LinkHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  code: string,
) => Promise<void>;

const readMethods = 'GET, HEAD';

/**
 * What visitors of links get. Each function answers the request, or rejects: Overloaded,
 * SpoolUnavailable, errors of PostgreSQL.
 *
 * @param noteOverload called at each password try for which there was no room
 */
export const createVisits = (deps: VisitDeps, noteOverload: () => void) => {
  const { links, clicks, spool, passwords, trustedProxies } = deps;

  const find = async (code: string): Promise<ServedLink | null> =>
    links.cached(code) ?? links.read(code);

  /** Counts the visit where it has to be counted, and then answers it. */
  const act = async (
    request: IncomingMessage,
    response: ServerResponse,
    link: ServedLink,
    answer: VisitAnswer | Exclude<EntryAnswer, { readonly type: 'checkPassword' }>,
    { bot, now }: Pick<VisitRequest, 'bot' | 'now'>,
  ): Promise<void> => {
    const status = request.method === 'POST' ? 303 : 302;
    const { code, account, location } = link;
    switch (answer.type) {
      case 'redirect':
        if (answer.counted) {
          const requestId = requestIdOf(request.headers['x-request-id']);
          await spool.append({ code, account, bot, at: new Date(now), requestId });
        }
        sendRedirect(response, location, status);
        return;
      case 'takeClick': {
        const requestId = requestIdOf(request.headers['x-request-id']);
        const outcome = await clicks.take({ code, requestId });
        if (outcome === 'taken') {
          sendRedirect(response, location, status);
          return;
        }
        // The link in memory is older than this refusal.
        links.forget(code);
        sendFailure(request, response, outcome);
        return;
      }
      case 'askPassword':
        sendPage(response, 200, pages.passwordForm);
        return;
      case 'conceal':
        sendPage(response, 200, pages.concealed);
        return;
      case 'noPassword':
        refuseMethod(request, response, readMethods);
        return;
      case 'notFound':
      case 'expired':
      case 'blocked':
        sendFailure(request, response, answer.type);
        return;
      default: {
        const unknown: never = answer;
        throw new Error(`No answer ${String(unknown)}`);
      }
    }
  };

  /** GET and HEAD /:shortCode */
  const follow: LinkHandler = async (request, response, code) => {
    const link = links.cached(code) ?? (await links.read(code));
    if (!link) {
      sendFailure(request, response, 'notFound');
      return;
    }
    const visit = {
      head: request.method === 'HEAD',
      bot: isBot(request.headers['user-agent']),
      now: Date.now(),
    };
    await act(request, response, link, answerVisit(link, visit), visit);
  };

  /** POST /:shortCode: the form of a link with a password. */
  const enterPassword: LinkHandler = async (request, response, code) => {
    const link = await find(code);
    if (!link) {
      refuseMethod(request, response, readMethods);
      return;
    }
    const bot = isBot(request.headers['user-agent']);
    const arrival = { bot, now: Date.now() };
    const before = answerEntry(link, { ...arrival, accepted: false });
    if (before.type !== 'checkPassword') {
      // The body stays unread.
      response.setHeader('Connection', 'close');
      await act(request, response, link, before, arrival);
      return;
    }
    const form = await readForm(request, maxBodyBytes);
    if (!(form instanceof URLSearchParams)) {
      refuseBody(request, response, formRefusals[form]);
      return;
    }
    const password = form.get('password') ?? '';
    const network = networkOf(clientAddress(request, trustedProxies));
    const { passwordHash } = before;
    const outcome = await passwords.check({ code, passwordHash, password, network });
    switch (outcome.type) {
      case 'throttled':
        sendTooManyAttempts(request, response, outcome.waitMs);
        return;
      case 'overloaded':
        noteOverload();
        sendFailure(request, response, 'unavailable');
        return;
      case 'wrong':
        sendPage(response, 401, pages.wrongPassword);
        return;
      case 'right': {
        // The check took time: a change of the link meanwhile applies.
        const current = (await find(code)) ?? link;
        const checked = { bot, now: Date.now() };
        const after = answerEntry(current, { ...checked, accepted: true });
        if (after.type === 'checkPassword') throw new Error('A right password is checked once');
        await act(request, response, current, after, checked);
        return;
      }
      default: {
        const unknown: never = outcome;
        throw new Error(`No outcome ${String(unknown)}`);
      }
    }
  };

  /** GET and HEAD /:shortCode+ */
  const preview: LinkHandler = async (request, response, code) => {
    const cached = links.cached(code);
    // Memory does not see a limit used up, and a preview takes no click from the ledger.
    const link = cached && !cached.limited ? cached : await links.read(code);
    const answer = answerPreview(link, Date.now());
    if (answer.type === 'preview') sendPage(response, 200, previewPage(answer));
    else sendFailure(request, response, answer.type);
  };

  /** Every other method. */
  const refuseOther: LinkHandler = async (request, response, code) => {
    const hasPassword = ((await find(code))?.passwordHash ?? null) !== null;
    refuseMethod(request, response, hasPassword ? `${readMethods}, POST` : readMethods);
  };

  return { follow, enterPassword, preview, refuseOther };
};
