import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DomainResponse } from '../../../schemas/http/domains.js';
import type { DnsServerDouble } from '../support/dns-server.js';
import { sendRequest, type HttpResponse, type RequestOptions } from '../support/http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { postgresOf } from '../support/product.js';
import { cachedWithinMs, type Bench, type Link } from './harness.js';

let names = 0;

/** A domain that no other test uses. */
export const newName = (): string => {
  names += 1;
  return `go-${names}.example`;
};

export const expectDomain = (response: HttpResponse, status: number): DomainResponse => {
  expect(response.status, response.text).to.equal(status);
  return response.json() as DomainResponse;
};

/** Requests about domains to a running product, whose DNS_SERVERS is `dns`: by default that of the shared product. */
export const domainCalls = (
  bench: Bench & { readonly dns?: DnsServerDouble },
  dns?: DnsServerDouble,
) => {
  const claim = (key: string, domain: unknown): Promise<HttpResponse> =>
    bench.api('/v2/domains', key, { method: 'POST', body: { domain } });
  const verify = (key: string, domain: string): Promise<HttpResponse> =>
    bench.api(`/v2/domains/${domain}/verify`, key, { method: 'POST' });
  /** Adds the values to the TXT record of a claim. */
  const publish = ({ verification }: DomainResponse, ...more: readonly string[]): void => {
    if (!verification) throw new Error('a domain of an operator needs no verification');
    (dns ?? bench.dns)?.setTxt(verification.name, ...more, verification.value);
  };
  const visit = (
    domain: string,
    path: string,
    { headers, ...options }: RequestOptions = {},
    edge = bench.product.edge,
  ): Promise<HttpResponse> =>
    sendRequest(`${edge}/${path}`, { ...options, headers: { Host: domain, ...headers } });

  return {
    claim,
    verify,
    publish,
    show: (key: string, domain: string): Promise<HttpResponse> =>
      bench.api(`/v2/domains/${domain}`, key),
    change: (key: string, domain: string, body: unknown): Promise<HttpResponse> =>
      bench.api(`/v2/domains/${domain}`, key, { method: 'PATCH', body }),
    remove: (key: string, domain: string): Promise<HttpResponse> =>
      bench.api(`/v2/domains/${domain}`, key, { method: 'DELETE' }),
    add: (domain: string, account: string): Promise<HttpResponse> =>
      bench.admin('POST', '/admin/domains', { domain, account }),
    release: (domain: string): Promise<HttpResponse> =>
      bench.admin('DELETE', `/admin/domains/${domain}`),

    /** Claims a domain and verifies it. */
    async activate(key: string, domain = newName()): Promise<string> {
      publish(expectDomain(await claim(key, domain), 201));
      expect(expectDomain(await verify(key, domain), 200).status).to.equal('active');
      return domain;
    },

    visit,

    /** Expects that a change is live on every edge in time. */
    onEveryEdge: (check: (edge: string) => Promise<void>): Promise<void> =>
      eventuallyPasses(async () => {
        for (const edge of bench.product.edges) await check(edge);
      }),

    /** The location, or the status without one. */
    async locationOf(domain: string, path: string, edge?: string): Promise<string> {
      const { headers, status } = await visit(domain, path, {}, edge);
      return headers.location ?? String(status);
    },

    /** Expects that edges redirect and GET /tls/ask responds from memory while PostgreSQL is stopped (SIGSTOP). */
    async expectServedWithoutPostgres(domain: string, link: Link, ms: number): Promise<void> {
      const { dataDir, edges, admins } = bench.product;
      const expectServed = async (): Promise<void> => {
        for (const edge of edges) {
          const options = { timeoutMs: cachedWithinMs };
          const { headers } = await visit(domain, link.shortCode, options, edge);
          expect(headers.location).to.equal(link.url);
        }
        for (const admin of admins) {
          for (const [name, status] of [
            [domain, 200],
            ['unknown.example', 404],
          ] as const) {
            const url = `${admin}/tls/ask?domain=${name}`;
            expect((await sendRequest(url, { timeoutMs: cachedWithinMs })).status).to.equal(status);
          }
        }
      };
      await eventuallyPasses(expectServed);
      const pids = await postgresOf(dataDir);
      expect(pids.length).to.be.above(0);
      for (const pid of pids) process.kill(pid, 'SIGSTOP');
      try {
        const end = performance.now() + ms;
        while (performance.now() < end) {
          await expectServed();
          await sleep(50);
        }
      } finally {
        for (const pid of pids) process.kill(pid, 'SIGCONT');
      }
    },
  };
};
