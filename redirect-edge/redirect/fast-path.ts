import { endsWithin } from '../../ops/platform/concurrency/deadline.js';
import { addressOf } from '../../ops/http/client-address.js';
import type { FastPath } from '../../ops/http/fast-path.js';
import type { RequestRecorder } from '../../ops/platform/metrics/metrics.js';
import type { Tracer } from '../../ops/platform/tracing.js';
import { endRequestSpan, startRequestSpan } from '../../ops/http/request-span.js';
import {
  serves,
  subjectOn,
  type DomainResolver,
  type ServedDomain,
} from '../domains/served-domain.js';
import { decideVisit, type ServedLink } from './decision.js';
import { chooseDestination } from './destination.js';
import type { LinkReader } from '../links/link-reader.js';
import type { Done } from '../spool/folder.js';
import type { Spool } from '../spool/spool.js';
import {
  isPrefetch,
  type ClientParts,
  type VisitAnalyzer,
  type Visitor,
} from '../visitors/visit-analyzer.js';
import { redirectHead } from './response.js';
import { redirectStatuses, type RedirectStatus } from '../../schemas/link-options.js';
import { linkCodeOf } from '../../schemas/link-subject.js';

/** Time until node:http reads the link again, with its own deadline (ms). */
const readWithinMs = 100;

// Bots are redirected, too.
const isRedirected = (link: ServedLink, now: number): boolean =>
  decideVisit(link, { head: false, bot: false, office: false, previewer: false, now }).type ===
  'redirect';

/**
 * The fast path: GET of a link without a password or limit. For a cached link, it allocates no promise. An uncached link is
 * read first, because a fallback would move the connection of a proxy to node:http permanently. Other requests, and
 * failures, fall back to node:http.
 */
export const createEdgeFastPath = (deps: {
  readonly links: Pick<LinkReader, 'peek' | 'read' | 'lookups'>;
  readonly platform: { readonly maintenance: boolean };
  readonly requests: RequestRecorder;
  readonly tracer: Tracer | null;
  readonly analyzer: VisitAnalyzer;
  readonly spool: Pick<Spool, 'append'>;
  readonly domains: DomainResolver;
}): FastPath => {
  const { links, platform, requests, tracer, analyzer, spool, domains } = deps;
  const durationsOf = new Map(
    redirectStatuses.map((status) => [status, requests.durationsOf('/:shortCode', 'GET', status)]),
  );

  /** The link with a code, a subject, if the response is a redirect that only has to be recorded. */
  const linkOf = (domain: ServedDomain, code: string, now: number): ServedLink | undefined => {
    const link = platform.maintenance ? undefined : links.peek(code, now);
    return link && serves(domain, link) && isRedirected(link, now) ? link : undefined;
  };

  return (socket, respond) => {
    let client: ClientParts = { peer: addressOf(socket), headers: {} };
    let host = '';
    /** The visitor, while requests have the same headers; `null`: not determined yet. */
    let visitor: Visitor | null = null;
    let isSpeculative = false;
    let startedAt = 0;
    let location = '';
    let status: RedirectStatus = 302;
    const done: Done = (failure) => {
      respond(failure ? null : redirectHead(location, status));
      if (failure) return;
      durationsOf.get(status)?.observeSince(startedAt);
      if (!tracer) return;
      endRequestSpan(
        startRequestSpan(tracer, 'GET', '/:shortCode', client.headers, startedAt),
        status,
      );
    };

    /**
     * Records the visit. `done` redirects at the end of this event-loop tick, so that the responses of a tick are sent
     * together. Returns `false` if the request needs more than that. @param code the requested one, a subject
     */
    const redirect = (
      link: ServedLink | undefined,
      code: string,
      query: string,
      now: number,
    ): boolean => {
      if (!link) return false;
      visitor ??= analyzer.visitorOf(client, now);
      // Requests for pages fall back to node:http.
      const { isOffice, isPreviewer } = visitor.agent;
      if (isOffice || (isPreviewer && link.options.card)) return false;
      const { subject, account } = link;
      const { requestId } = visitor;
      const destination = chooseDestination(analyzer, link, visitor, query, null, now);
      location = destination.location;
      if (code !== subject) destination.data.code = code;
      status = link.options.redirectStatus ?? 302;
      spool.append({ subject, account, at: now, requestId, data: destination.data }, done);
      return true;
    };
    const redirectUncached = async (
      domain: ServedDomain,
      code: string,
      query: string,
    ): Promise<void> => {
      await endsWithin(links.read(code), readWithinMs);
      const now = Date.now();
      if (redirect(linkOf(domain, code, now), code, query, now)) links.lookups.misses += 1;
      else respond(null);
    };

    return ({ headers, name, query }) => {
      startedAt = performance.now();
      if (client.headers !== headers) {
        client = { ...client, headers };
        host = domains.hostOf(headers, client.peer);
        visitor = null;
        isSpeculative = isPrefetch(headers);
      }
      if (isSpeculative) return false;
      const now = Date.now();
      const domain = domains.domainOf(host);
      const code = subjectOn(domain, name);
      if (redirect(linkOf(domain, code, now), code, query, now)) {
        links.lookups.hits += 1;
        return true;
      }
      const isCached = links.peek(code) !== undefined;
      if (platform.maintenance || linkCodeOf(name) === null || isCached) return false;
      redirectUncached(domain, code, query).catch(() => {
        // The handler of node:http gets the same error and reports it.
        respond(null);
      });
      return true;
    };
  };
};
