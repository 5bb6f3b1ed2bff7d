import type { IncomingMessage, ServerResponse } from 'node:http';
import { clientAddress, networkOf, type ProxyTrust } from '../../ops/http/client-address.js';
import { deferred } from '../../ops/platform/concurrency/deferred.js';
import { withinDeadline, type Uncounted } from '../../ops/platform/concurrency/deadline.js';
import { namedRequestId, requestIdOf } from '../../ops/http/request-span.js';
import {
  decideEntry,
  decidePreview,
  decideVisit,
  hasForm,
  type EntryDecision,
  type ServedLink,
  type VisitDecision,
} from './decision.js';
import { serves, type ServedDomain } from '../domains/served-domain.js';
import { linkOfSubject, pathOfCode } from '../../schemas/link-subject.js';
import { chooseDestination, type Destination } from './destination.js';
import type { ClickBudget } from '../links/click-budget.js';
import type { LinkReader } from '../links/link-reader.js';
import type { PasswordCheck } from '../../ops/http/passwords/password-check.js';
import type { Spool } from '../spool/spool.js';
import { agentOf, isMarked, withMark } from '../../ops/visitors/agents.js';
import { partsOf, type VisitAnalyzer } from '../visitors/visit-analyzer.js';
import {
  queryOf,
  refuseBody,
  refuseMethod,
  sendFailure,
  sendPage,
  sendRedirect,
  sendTooManyAttempts,
} from './response.js';
import { formRefusals, readForm } from '../../ops/http/form-body.js';
import { cardPage, leadingTo, pages, previewPage, refreshPage } from './pages.js';
import { forwardedPath, type PathRest } from './paths.js';

export interface VisitDeps {
  readonly links: Pick<LinkReader, 'cached' | 'forget' | 'lookups' | 'read'>;
  readonly clicks: Pick<ClickBudget, 'take'>;
  /** Records the visits of links without a limit. */
  readonly spool: Pick<Spool, 'append'>;
  readonly passwords: Pick<PasswordCheck, 'check'>;
  readonly analyzer: VisitAnalyzer;
  readonly trustedProxies: ProxyTrust;
  /** Schemes of destinations beside http and https. */
  readonly schemes: readonly string[];
}

interface Requested {
  readonly domain: ServedDomain;
  readonly rest: PathRest | null;
}

export interface RequestedLinks extends Requested {
  /** The subjects of the candidates of a `LinkName`. */
  readonly subjects: readonly [string, ...string[]];
}

/** A request for a link with the code that it names, a subject. */
interface NamedRequest extends Requested {
  readonly code: string;
}

/** Whether a request is for this link: its domain serves it, and the link accepts what follows its code. */
const accepts = ({ domain, rest }: Requested, link: ServedLink): boolean => {
  if (!serves(domain, link)) return false;
  if (rest === null) return true;
  return link.options.forwardPath ? forwardedPath(rest.path) !== null : rest.isPasted;
};

type LinkHandler = (response: ServerResponse, requested: RequestedLinks) => Promise<void>;

const readMethods = 'GET, HEAD';

/** Time until 503 (ms). A visitor may wait 2 s. */
const respondWithinMs = 1_800;

/**
 * The handlers of requests for links. They send the response, or reject with Overloaded, SpoolUnavailable,
 * DeadlinePassed or an error of PostgreSQL.
 */
export const createVisits = (deps: VisitDeps) => {
  const { links, clicks, spool, passwords, analyzer, trustedProxies, schemes } = deps;
  const forms = {
    password: leadingTo(pages.passwordForm, schemes),
    wrongPassword: leadingTo(pages.wrongPassword, schemes),
    toContinue: leadingTo(pages.continueForm, schemes),
  };

  /** The first link that exists, with its code. It is read from memory if `isEnough` accepts the cached link. */
  const find = async (
    request: Requested,
    subjects: readonly string[],
    isEnough: (cached: ServedLink) => boolean = () => true,
  ): Promise<{ readonly link: ServedLink; readonly code: string } | null> => {
    for (const code of subjects) {
      const cached = links.cached(code);
      const link = cached && isEnough(cached) ? cached : await links.read(code);
      if (link && accepts(request, link)) return { link, code };
    }
    return null;
  };

  const destinationOf = (
    request: IncomingMessage,
    link: ServedLink,
    { code, rest }: NamedRequest,
    now: number,
  ): Destination => {
    const visitor = analyzer.visitorOf(partsOf(request), now);
    const path = rest && forwardedPath(rest.path);
    const destination = chooseDestination(analyzer, link, visitor, queryOf(request), path, now);
    if (code !== link.subject) destination.data.code = code;
    return destination;
  };

  /** Records the visit if it counts, and then sends the response. */
  const respond = async (
    response: ServerResponse,
    link: ServedLink,
    decision: VisitDecision | Exclude<EntryDecision, { readonly type: 'checkPassword' }>,
    now: number,
    named: NamedRequest,
  ): Promise<void> => {
    const { subject, account, options } = link;
    const { expiredUrl } = options;
    const { domain, rest } = named;
    switch (decision.type) {
      case 'card':
      case 'redirect': {
        const { location, data } = destinationOf(response.req, link, named, now);
        if (decision.counted) {
          const requestId = namedRequestId(response.req.headers['x-request-id']);
          // Crawlers submit no forms.
          const bot = (data.bot && response.req.method !== 'POST') || decision.type === 'card';
          const written = deferred();
          spool.append(
            { subject, account, at: now, requestId, data: { ...data, bot } },
            (failure) => {
              if (failure) written.reject(failure);
              else written.resolve();
            },
          );
          await written.promise;
        }
        // The listener may have rejected pipelined data meanwhile.
        if (response.headersSent) return;
        if (decision.type === 'redirect') sendRedirect(response, location, options.redirectStatus);
        else if (options.card) {
          sendPage(response, 200, cardPage(options.card, hasForm(link) ? null : location));
        }
        return;
      }
      case 'takeClick': {
        const requestId = requestIdOf(response.req.headers['x-request-id']);
        const { location, data } = destinationOf(response.req, link, named, now);
        const outcome = await clicks.take({ subject, requestId, data: { ...data, bot: false } });
        if (outcome === 'taken') sendRedirect(response, location);
        else {
          // The cached link is older than this refusal.
          links.forget(subject);
          sendFailure(response, outcome, domain, expiredUrl);
        }
        return;
      }
      case 'askPassword':
        sendPage(response, 200, forms.password);
        return;
      case 'askToContinue':
        sendPage(response, 200, forms.toContinue);
        return;
      case 'refresh':
        sendPage(
          response,
          200,
          refreshPage(
            `${pathOfCode(linkOfSubject(named.code).code)}${rest ? `/${rest.path}` : ''}?${withMark(queryOf(response.req))}`,
          ),
        );
        return;
      case 'noForm':
        refuseMethod(response, readMethods);
        return;
      case 'notFound':
      case 'deleted':
      case 'blocked':
      case 'disabled':
      case 'expired':
        sendFailure(response, decision.type, domain, expiredUrl);
        return;
      default: {
        const unknown: never = decision;
        throw new Error(`unknown decision ${String(unknown)}`);
      }
    }
  };

  const respondToVisit = async (
    response: ServerResponse,
    link: ServedLink | null,
    request: NamedRequest,
  ): Promise<void> => {
    if (!link) {
      sendFailure(response, 'notFound', request.domain);
      return;
    }
    const { data, isOffice, isPreviewer } = agentOf(response.req.headers['user-agent'] ?? '');
    const marked = isMarked(queryOf(response.req));
    const visit = {
      head: response.req.method === 'HEAD',
      bot: data.bot && !marked,
      office: isOffice && !marked,
      previewer: isPreviewer,
      now: Date.now(),
    };
    await respond(response, link, decideVisit(link, visit), visit.now, request);
  };

  /** GET and HEAD /:shortCode */
  const follow: LinkHandler = (response, { subjects, ...request }) => {
    const [subject, ...others] = subjects;
    const known = links.cached(subject);
    const cached = known && accepts(request, known) ? known : undefined;
    // A response without a query needs no deadline.
    const named = { ...request, code: subject };
    if (cached && !cached.limited) return respondToVisit(response, cached, named);
    return withinDeadline(respondWithinMs, async () => {
      const read = cached ?? (await links.read(subject));
      const link = read && accepts(request, read) ? read : null;
      const other = link ? null : await find(request, others);
      const code = other?.code ?? subject;
      await respondToVisit(response, link ?? other?.link ?? null, { ...request, code });
    });
  };

  /** POST /:shortCode: the form of a link with a password or a limit. */
  const submitForm = async (
    response: ServerResponse,
    requested: RequestedLinks,
    uncounted: Uncounted,
  ): Promise<void> => {
    const found = await find(requested, requested.subjects);
    if (!found) {
      refuseMethod(response, readMethods);
      return;
    }
    const { link, code } = found;
    const named = { ...requested, code };
    const arrival = Date.now();
    const before = decideEntry(link, { now: arrival, accepted: false });
    if (before.type !== 'checkPassword') {
      // The body stays unread.
      response.setHeader('Connection', 'close');
      await respond(response, link, before, arrival, named);
      return;
    }
    const form = await uncounted(readForm(response.req));
    if (!(form instanceof URLSearchParams)) {
      refuseBody(response, formRefusals[form]);
      return;
    }
    const password = form.get('password') ?? '';
    const network = networkOf(clientAddress(response.req, trustedProxies));
    const { subject } = link;
    const { passwordHash } = before;
    // The check waits in a bounded queue, and each of its statements has a deadline.
    const outcome = await uncounted(passwords.check({ subject, passwordHash, password, network }));
    switch (outcome.type) {
      case 'throttled':
        sendTooManyAttempts(response, outcome.waitMs);
        return;
      case 'wrong':
        sendPage(response, 401, forms.wrongPassword);
        return;
      case 'right': {
        // The link may have changed during the check.
        const { link: current } = (await find(requested, [code])) ?? { link };
        const now = Date.now();
        if (current.passwordHash === null) {
          const visit = { head: false, bot: false, office: false, previewer: false, now };
          await respond(response, current, decideVisit(current, visit), now, named);
          return;
        }
        // The password was changed during the check.
        if (current.passwordHash !== passwordHash) {
          sendPage(response, 401, forms.wrongPassword);
          return;
        }
        const after = decideEntry(current, { now, accepted: true });
        if (after.type === 'checkPassword')
          throw new Error('decideEntry() returned checkPassword for an accepted password');
        await respond(response, current, after, now, named);
        return;
      }
      default: {
        const unknown: never = outcome;
        throw new Error(`unknown outcome ${String(unknown)}`);
      }
    }
  };

  /** GET and HEAD /:shortCode+ */
  const preview: LinkHandler = async (response, requested) => {
    // The cache does not notice when a limit is used up, and a preview does not count.
    const { link } = (await find(requested, requested.subjects, ({ limited }) => !limited)) ?? {
      link: null,
    };
    const decision = decidePreview(link, Date.now());
    if (decision.type === 'preview') sendPage(response, 200, previewPage(decision));
    else sendFailure(response, decision.type, requested.domain, link?.options.expiredUrl);
  };

  /** All other methods. */
  const refuseOther: LinkHandler = async (response, requested) => {
    const found = await find(requested, requested.subjects);
    refuseMethod(response, found && hasForm(found.link) ? `${readMethods}, POST` : readMethods);
  };

  const withDeadline =
    (handler: (...args: [...Parameters<LinkHandler>, Uncounted]) => Promise<void>): LinkHandler =>
    (response, requested) =>
      withinDeadline(respondWithinMs, (uncounted) => handler(response, requested, uncounted));

  return {
    follow,
    submitForm: withDeadline(submitForm),
    preview: withDeadline(preview),
    refuseOther: withDeadline(refuseOther),
  };
};
