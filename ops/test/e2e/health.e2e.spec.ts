import { expect } from 'chai';
import { sendRequest, type HttpResponse } from '../support/http.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { eventually } from '../support/waiting.js';
import { productFixture, dependenciesAt } from './harness.js';
import { fixture } from '../support/fixture.js';
import { databaseFixture } from '../support/fixtures.js';

const boundMs = 10_000;

interface Report {
  readonly status: string;
  readonly dependencies: Readonly<
    Record<string, { readonly state: string; readonly code?: string }>
  >;
  readonly projections: readonly { readonly lag: number }[];
}

describe('product: health while PostgreSQL is unavailable', () => {
  const database = databaseFixture('health');
  const proxy = fixture(
    () => startTcpProxy(database.url),
    (proxy) => proxy.close(),
  );
  const bench = productFixture(() => ({ DATABASE_URL: proxy.url }));

  const listeners = ['api', 'edge', 'admin'] as const;
  const readiness = (): Promise<HttpResponse[]> =>
    Promise.all(
      listeners.map((name) =>
        sendRequest(`${bench.product[name]}/health/ready`, { timeoutMs: boundMs }),
      ),
    );
  const allReturn = async (status: number): Promise<boolean> =>
    (await readiness()).every((response) => response.status === status);

  const faults: readonly {
    readonly what: string;
    begin(): void;
    end(): void;
  }[] = [
    {
      what: 'stops responding on open connections',
      begin: () => {
        proxy.mute();
      },
      end: () => {
        proxy.cut();
      },
    },
    {
      what: 'accepts connections and sends nothing',
      begin: () => {
        proxy.pause();
        proxy.cut();
      },
      end: () => {
        proxy.resume();
      },
    },
    {
      what: 'resets connections',
      begin: () => {
        proxy.inspect((_chunk, cut) => {
          cut();
        });
        proxy.cut();
      },
      end: () => {
        proxy.inspect(null);
      },
    },
  ];

  for (const fault of faults) {
    it(`reports 503 in time on each listener when PostgreSQL ${fault.what}, and 200 afterwards`, async () => {
      await eventually('200 on each listener', () => allReturn(200));
      fault.begin();
      try {
        await eventually('503 on each listener', () => allReturn(503));
        for (const [index, response] of (await readiness()).entries()) {
          const { status, dependencies } = response.json() as Report;
          expect(status).to.equal('fail');
          expect(dependencies['postgres']?.state).to.equal('down');
          expect(dependencies).to.have.all.keys(dependenciesAt(listeners[index] ?? 'api'));
          expect(response.text).not.to.include(new URL(proxy.url).host);
        }
        for (const name of listeners) {
          const { status } = await sendRequest(`${bench.product[name]}/health`, {
            timeoutMs: boundMs,
          });
          expect(status).to.equal(200);
        }
        // Metrics that need no PostgreSQL are reported.
        const metrics = await sendRequest(`${bench.product.admin}/metrics`, { timeoutMs: boundMs });
        expect(metrics.status).to.equal(200);
        expect(metrics.text).to.include('linklog_dependency_up{dependency="postgres"} 0\n');
      } finally {
        fault.end();
      }
      await eventually('200 on each listener', () => allReturn(200));
      const { text } = await sendRequest(`${bench.product.admin}/metrics`);
      expect(text).to.include('linklog_dependency_up{dependency="postgres"} 1\n');
    });
  }
});
