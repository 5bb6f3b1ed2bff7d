import { expect } from 'chai';
import { sendRequest, type HttpResponse } from '../support/http.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { eventually } from '../support/waiting.js';
import { productFixture, dependenciesAt } from './harness.js';
import { fixture } from '../support/fixture.js';
import { databaseFixture } from '../support/fixtures.js';

/** Far above what an answer may take, and far below for ever. */
const boundMs = 10_000;

interface Report {
  readonly status: string;
  readonly dependencies: Readonly<
    Record<string, { readonly state: string; readonly code?: string }>
  >;
  readonly projections: readonly { readonly lag: number }[];
}

describe('product: health of a product whose PostgreSQL is away', () => {
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
  const allAnswer = async (status: number): Promise<boolean> =>
    (await readiness()).every((response) => response.status === status);

  const faults: readonly {
    readonly what: string;
    begin(): void;
    end(): void;
  }[] = [
    {
      what: 'hangs with every connection',
      begin: () => {
        proxy.mute();
      },
      end: () => {
        proxy.cut();
      },
    },
    {
      what: 'takes connections and says nothing',
      begin: () => {
        proxy.pause();
        proxy.cut();
      },
      end: () => {
        proxy.resume();
      },
    },
    {
      what: 'is dead',
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
    it(`each listener reports 503 in time when PostgreSQL ${fault.what}, and 200 when it is back`, async () => {
      await eventually('all is well', () => allAnswer(200));
      fault.begin();
      try {
        await eventually('503 on each listener', () => allAnswer(503));
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
        // What can be told without PostgreSQL is told.
        const metrics = await sendRequest(`${bench.product.admin}/metrics`, { timeoutMs: boundMs });
        expect(metrics.status).to.equal(200);
        expect(metrics.text).to.include('linklog_dependency_up{dependency="postgres"} 0\n');
      } finally {
        fault.end();
      }
      await eventually('200 on each listener', () => allAnswer(200));
      const { text } = await sendRequest(`${bench.product.admin}/metrics`);
      expect(text).to.include('linklog_dependency_up{dependency="postgres"} 1\n');
    });
  }
});
