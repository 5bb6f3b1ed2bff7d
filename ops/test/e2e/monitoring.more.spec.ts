import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { parseExposition } from '../support/exposition.js';
import {
  eventStoreFixture,
  folderFixture,
  kafkaFixture,
  safeBrowsingFixture,
} from '../support/fixtures.js';
import { sendRequest } from '../support/http.js';
import { startEmbeddedProduct } from '../support/product.js';
import { alertRules, metricsIn, monitoringFile } from '../support/prometheus.js';
import { testRedis } from '../support/redis.js';
import { Bench } from './harness.js';
import { needs } from '../support/needs.js';

/** Runs `promtool check metrics`. @returns its findings */
const checkMetrics = (text: string): Promise<string> =>
  new Promise((resolve) => {
    const child = execFile('promtool', ['check', 'metrics'], (_, stdout, stderr) => {
      resolve(stdout + stderr);
    });
    child.stdin?.end(text);
  });

/** Recording rules have colons. */
const dashboardExpressions = async (): Promise<readonly string[]> => {
  const text = await readFile(monitoringFile('dashboard.json'), 'utf8');
  return [...text.matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g)].map(
    ([, expr = '']) => JSON.parse(expr) as string,
  );
};

describe('product: metrics for Prometheus and Grafana', function () {
  this.timeout(300_000);
  needs('promtool', 'redis-server');
  const safeBrowsing = safeBrowsingFixture();
  const archive = eventStoreFixture();
  const folder = folderFixture();
  const kafka = kafkaFixture('monitoring');
  /** The metrics by whether the log is in Kafka. */
  const texts = new Map<boolean, string>();

  before(async function () {
    this.timeout(300_000);
    for (const onKafka of [false, true]) {
      const bench = new Bench();
      const env = {
        SAFE_BROWSING_API_KEY: 'key-of-a-test',
        SAFE_BROWSING_URL: safeBrowsing.url,
        EVENTSTORE_URL: archive.url,
        BACKUP_DIR: folder.path,
        REDIS_URL: (await testRedis()).url,
        ...(onKafka && { KAFKA_BROKERS: kafka.brokers, KAFKA_TOPIC_PREFIX: kafka.prefix }),
      };
      bench.use(await startEmbeddedProduct({ env }));
      try {
        const { key } = await bench.key('PRO');
        await bench.visit((await bench.link(key)).shortCode);
        const { text } = await sendRequest(`${bench.product.admin}/metrics`);
        texts.set(onKafka, text);
      } finally {
        await bench.end();
      }
    }
  });

  const names = (onKafka: boolean): ReadonlySet<string> =>
    new Set(parseExposition(texts.get(onKafka) ?? '').map(({ name }) => name));

  it('have names that follow the conventions of Prometheus', async () => {
    expect(await checkMetrics(texts.get(false) ?? '')).to.equal('');
    expect(await checkMetrics(texts.get(true) ?? '')).to.equal('');
  });

  it('are all that the alert rules and the dashboard use', async () => {
    const known = new Set([...names(false), ...names(true)]);
    const rules = alertRules().map(({ expr }) => expr);
    const panels = await dashboardExpressions();
    expect(panels).to.have.length.above(12);
    for (const expr of [...rules, ...panels].filter((text) => !text.includes('ALERTS'))) {
      const used = metricsIn(expr);
      expect(used.length > 0 || /\bup\{/.test(expr), expr).to.equal(true);
      expect(
        used.filter((name) => !known.has(name)),
        expr,
      ).to.deep.equal([]);
    }
  });
});
