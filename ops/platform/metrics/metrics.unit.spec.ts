import { expect } from 'chai';
import { parseExposition, total } from '../../test/support/exposition.js';
import { withVirtualTime } from '../concurrency/testing/virtual-time.js';
import { createMetrics, type Metrics } from './metrics.js';

const requests = 'linklog_http_request_duration_seconds';

describe('platform: metrics of a process', () => {
  let metrics: Metrics;
  beforeEach(() => {
    metrics = createMetrics();
  });

  /** The sum of the values of a metric's series that have the labels. */
  const valueOf = async (name: string, labels: Record<string, string> = {}): Promise<number> =>
    total(parseExposition(await metrics.text()), name, labels);
  const namesOf = async (): Promise<readonly string[]> =>
    parseExposition(await metrics.text()).map(({ name }) => name);

  it('are read for each response, and omit series that do not exist any more', async () => {
    let depth = 3;
    let counts: Record<string, number> = { hit: 1 };
    const name = 'linklog_lookups_total';
    metrics.gauge({ name: 'linklog_depth', help: 'Depth', read: () => depth });
    metrics.counter({
      ...{ name, help: 'Look-ups', labels: ['result'] },
      read: () =>
        Promise.resolve(Object.entries(counts).map(([result, count]) => [{ result }, count])),
    });
    expect([await valueOf('linklog_depth'), await valueOf(name)]).to.deep.equal([3, 1]);
    depth = 2;
    counts = { hit: 5, miss: 7 };
    expect([await valueOf('linklog_depth'), await valueOf(name)]).to.deep.equal([2, 12]);
    expect(await valueOf(name, { result: 'hit' })).to.equal(5);
    counts = {};
    expect(await namesOf()).not.to.include(name);
  });

  it('count durations by bucket, bounds included', async () => {
    const name = 'linklog_append_duration_seconds';
    const durations = metrics.durations(name, 'Appends');
    for (const seconds of [0.000_25, 0.0003, 0.005, 0.3, 10, 11]) durations.observe(seconds);
    for (const [le, count] of Object.entries({
      ...{ 0.00025: 1, 0.0005: 2, 0.005: 3, 0.25: 3, 0.5: 4, 5: 4, 10: 5, '+Inf': 6 },
    })) {
      expect(await valueOf(`${name}_bucket`, { le }), le).to.equal(count);
    }
    expect(await valueOf(`${name}_count`)).to.equal(6);
    expect(await valueOf(`${name}_sum`)).to.be.closeTo(21.305_55, 1e-9);
  });

  it('count requests by listener, route, method and status, with one label for unknown methods', async () => {
    const edge = metrics.requests('edge');
    const api = metrics.requests('api');
    const route = '/:shortCode';
    for (const status of [302, 302, 404]) edge.record(route, 'GET', status, 0);
    edge.record(route, 'POST', 303, 0);
    for (const method of ['PROPFIND', 'MKCOL', undefined]) api.record('other', method, 405, 0);
    for (const [labels, count] of [
      [{ listener: 'edge', route, method: 'GET', status: '302' }, 2],
      [{ listener: 'edge', route, method: 'GET', status: '404' }, 1],
      [{ listener: 'edge', route, method: 'POST', status: '303' }, 1],
      [{ listener: 'api', method: 'other' }, 3],
      [{}, 7],
    ] as const) {
      expect(await valueOf(`${requests}_count`, labels)).to.equal(count);
    }
  });

  it('are separate for each instance, and have unique names', async () => {
    const depth = { name: 'linklog_depth', help: 'Depth', read: () => 1 };
    const appends = ['linklog_append_duration_seconds', 'Appends'] as const;
    for (const instance of [metrics, createMetrics()]) {
      instance.gauge(depth);
      instance.durations(...appends);
      instance.requests('edge');
    }
    createMetrics().requests('edge').record('other', 'GET', 404, 0);
    expect(await valueOf(`${requests}_count`)).to.equal(0);
    expect(() => metrics.durations(...appends)).to.throw('already');
    expect(() => metrics.durations('linklog_depth', 'Depth')).to.throw('already');
    expect(() => {
      metrics.gauge(depth);
    }).to.throw('already');
  });

  it('may have several figures that differ in labels', async () => {
    const name = 'linklog_connections';
    for (const pool of ['log', 'edge']) {
      metrics.gauge({ name, help: 'Open', labels: ['pool'], read: () => [[{ pool }, 2]] });
    }
    expect([await valueOf(name, { pool: 'edge' }), await valueOf(name)]).to.deep.equal([2, 4]);
  });

  it('include metrics of the process', async () => {
    expect(await namesOf()).to.include.members([
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'linklog_event_loop_delay_seconds_count',
    ]);
  });

  it('measure the delay of the event loop', () =>
    withVirtualTime(async (advance) => {
      metrics = createMetrics();
      // The second check runs 0.1 s late, and the third one 0.5 s after it.
      await advance(500);
      for (const now of [1_100, 1_600]) {
        performance.now = () => now;
        await advance(500);
      }
      const name = 'linklog_event_loop_delay_seconds';
      expect(await valueOf(`${name}_count`)).to.equal(3);
      expect(await valueOf(`${name}_sum`)).to.be.closeTo(0.1, 1e-9);
    }));
});
