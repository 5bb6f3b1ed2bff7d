import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  clientAddress,
  networkOf,
  type ProxyTrust,
} from '../../ops/platform/http/client-address.js';
import { messages } from '../../schemas/http/errors.js';
import { isBot } from '../domain/bots.js';
import { answerEntry, type EntryAnswer, type ServedLink } from '../domain/visit.js';
import type { LinkReader } from '../links/link-reader.js';
import type { PasswordCheck } from '../passwords/password-check.js';
import {
  refuseBody,
  refuseMethod,
  sendConcealed,
  sendFailure,
  sendPage,
  sendRedirect,
  sendTooManyAttempts,
} from './answer.js';
import { readForm } from './form-body.js';
import { pages } from './pages.js';
import type { Visits } from './visits.js';

/** A password of 100 characters takes 1.2 KB at most, percent-encoded. */
const maxBodyBytes = 4_096;

export interface PasswordEntryDeps {
  readonly links: LinkReader;
  readonly visits: Visits;
  readonly passwords: PasswordCheck;
  readonly trustedProxies: ProxyTrust;
  /** Told of each try for which there was no room. */
  readonly noteOverload: () => void;
}

const find = async (links: LinkReader, code: string): Promise<ServedLink | null> =>
  links.cached(code) ?? links.read(code);

/** The methods of a link, for `Allow`. */
export const methodsOf = async (links: LinkReader, code: string): Promise<string> =>
  ((await find(links, code))?.passwordHash ?? null) === null ? 'GET, HEAD' : 'GET, HEAD, POST';

/** POST /:shortCode: the form of a link with a password. */
export const createPasswordEntry = (deps: PasswordEntryDeps) => {
  const { links, visits, passwords, trustedProxies, noteOverload } = deps;

  /** The password that was sent, or `null` after a refusal. */
  const readPassword = async (
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<string | null> => {
    const body = await readForm(request, maxBodyBytes);
    switch (body.type) {
      case 'fields':
        return body.fields.get('password') ?? '';
      case 'wrongContentType':
        refuseBody(request, response, { statusCode: 415, message: messages.formContentType });
        return null;
      case 'tooLarge':
        refuseBody(request, response, { statusCode: 413, message: messages.bodyTooLarge });
        return null;
      default: {
        const unknown: never = body;
        return unknown;
      }
    }
  };

  const act = async (
    request: IncomingMessage,
    response: ServerResponse,
    link: ServedLink,
    answer: Exclude<EntryAnswer, { readonly type: 'checkPassword' }>,
  ): Promise<void> => {
    switch (answer.type) {
      case 'redirect':
        if (answer.counted) await visits.record(request, link, false, Date.now());
        sendRedirect(response, link.location, 303);
        return;
      case 'takeClick': {
        const outcome = await visits.takeClick(request, link);
        if (outcome === 'taken') sendRedirect(response, link.location, 303);
        else sendFailure(request, response, outcome);
        return;
      }
      case 'conceal':
        sendConcealed(response);
        return;
      case 'noPassword':
        refuseMethod(request, response, 'GET, HEAD');
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

  return async (
    request: IncomingMessage,
    response: ServerResponse,
    code: string,
  ): Promise<void> => {
    const link = await find(links, code);
    if (!link) {
      refuseMethod(request, response, 'GET, HEAD');
      return;
    }
    const bot = isBot(request.headers['user-agent']);
    const before = answerEntry(link, { bot, now: Date.now(), accepted: false });
    if (before.type !== 'checkPassword') {
      // The body stays unread.
      response.setHeader('Connection', 'close');
      await act(request, response, link, before);
      return;
    }
    const password = await readPassword(request, response);
    if (password === null) return;
    const network = networkOf(clientAddress(request, trustedProxies));
    const { passwordHash } = before;
    const outcome = await passwords.check({ code, passwordHash, password, network });
    if (outcome.type === 'throttled') {
      sendTooManyAttempts(request, response, outcome.waitMs);
      return;
    }
    if (outcome.type === 'overloaded') {
      noteOverload();
      sendFailure(request, response, 'unavailable');
      return;
    }
    if (outcome.type === 'wrong') {
      sendPage(response, 401, pages.wrongPassword);
      return;
    }
    // The check took its time: what happened to the link meanwhile holds.
    const now = (await find(links, code)) ?? link;
    const after = answerEntry(now, { bot, now: Date.now(), accepted: true });
    if (after.type === 'checkPassword') throw new Error('A right password is not checked twice');
    await act(request, response, now, after);
  };
};
