import { expect } from 'chai';
import type { DomainResponse } from '../../../schemas/http/domains.js';
import type { DnsServerDouble } from '../support/dns-server.js';
import { sendRequest, type HttpResponse, type RequestOptions } from '../support/http.js';
import { eventuallyPasses } from '../support/waiting.js';
import type { Bench } from './harness.js';

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
    locationOf: async (domain: string, path: string, edge?: string): Promise<string> => {
      const { headers, status } = await visit(domain, path, {}, edge);
      return headers.location ?? String(status);
    },
  };
};
