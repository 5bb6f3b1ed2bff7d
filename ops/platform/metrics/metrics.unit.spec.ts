import { expect } from 'chai';
import { parseExposition, total, type Series } from '../../test/support/exposition.js';
import { withVirtualTime } from '../concurrency/testing/virtual-time.js';
import { createMetrics, type Metrics } from './metrics.js';

const seriesOf = async (metrics: Metrics): Promise<readonly Series[]> =>
  parseExposition(await metrics.text());

const requests = 'linklog_http_request_duration_seconds';

describe('platform: metrics of a process', () => {
  it('are read for each response', async () => {
    const metrics = createMetrics();
    let depth = 3;
    const counts: Record<string, number> = { hit: 1 };
    metrics.gauge({ name: 'linklog_depth', help: 'Depth', read: () => depth });
    metrics.counter({
      name: 'linklog_lookups_total',
      help: 'Look-ups',
      labels: ['result'],
      read: () =>
        Promise.resolve(Object.entries(counts).map(([result, count]) => [{ result }, count])),
    });
    const before = await seriesOf(metrics);
    expect(total(before, 'linklog_depth')).to.equal(3);
    expect(total(before, 'linklog_lookups_total', { result: 'hit' })).to.equal(1);
    depth = 2;
    counts['hit'] = 5;
    counts['miss'] = 7;
    const after = await seriesOf(metrics);
    expect(total(after, 'linklog_depth')).to.equal(2);
    expect(total(after, 'linklog_lookups_total', { result: 'hit' })).to.equal(5);
    expect(total(after, 'linklog_lookups_total')).to.equal(12);
  });

  it('omit series that do not exist any more', async () => {
    const metrics = createMetrics();
    let names = ['redirects', 'stats'];
    metrics.gauge({
      name: 'linklog_lag_events',
      help: 'Lag',
      labels: ['projection'],
      read: () => names.map((projection) => [{ projection }, 1]),
    });
    expect(total(await seriesOf(metrics), 'linklog_lag_events')).to.equal(2);
    names = ['stats'];
    const left = (await seriesOf(metrics)).filter(({ name }) => name === 'linklog_lag_events');
    expect(left.map(({ labels }) => labels)).to.deep.equal([{ projection: 'stats' }]);
  });

  it('count durations by bucket, bounds included', async () => {
    const metrics = createMetrics();
    const durations = metrics.durations('linklog_append_duration_seconds', 'Appends');
    for (const seconds of [0.000_25, 0.0003, 0.005, 0.3, 10, 11]) durations.observe(seconds);
    const series = await seriesOf(metrics);
    const bucket = (le: string): number =>
      total(series, 'linklog_append_duration_seconds_bucket', { le });
    expect(
      ['0.00025', '0.0005', '0.005', '0.25', '0.5', '5', '10', '+Inf'].map(bucket),
    ).to.deep.equal([1, 2, 3, 3, 4, 4, 5, 6]);
    expect(total(series, 'linklog_append_duration_seconds_count')).to.equal(6);
    expect(total(series, 'linklog_append_duration_seconds_sum')).to.be.closeTo(21.305_55, 1e-9);
  });

  it('count requests by listener, route, method and status', async () => {
    const metrics = createMetrics();
    const edge = metrics.requests('edge');
    const api = metrics.requests('api');
    for (const status of [302, 302, 404]) edge.record('/:shortCode', 'GET', status, 0);
    edge.record('/:shortCode', 'POST', 303, 0);
    api.record('/:shortCode', 'GET', 302, 0);
    const series = await seriesOf(metrics);
    const count = (labels: Record<string, string>): number =>
      total(series, `${requests}_count`, labels);
    const ofEdge = { listener: 'edge', route: '/:shortCode' };
    expect(count({ ...ofEdge, method: 'GET', status: '302' })).to.equal(2);
    expect(count({ ...ofEdge, method: 'GET', status: '404' })).to.equal(1);
    expect(count({ ...ofEdge, method: 'POST', status: '303' })).to.equal(1);
    expect(count({ listener: 'api' })).to.equal(1);
    expect(count({})).to.equal(5);
  });

  it('count unknown methods under one label', async () => {
    const metrics = createMetrics();
    const recorder = metrics.requests('api');
    for (const method of ['PROPFIND', 'MKCOL', undefined]) recorder.record('other', method, 405, 0);
    const series = await seriesOf(metrics);
    expect(total(series, `${requests}_count`, { method: 'other' })).to.equal(3);
    expect(total(series, `${requests}_count`)).to.equal(3);
  });

  it('are separate for each instance, and have unique names', async () => {
    const [first, other] = [createMetrics(), createMetrics()];
    for (const metrics of [first, other]) {
      metrics.gauge({ name: 'linklog_depth', help: 'Depth', read: () => 1 });
      metrics.durations('linklog_append_duration_seconds', 'Appends');
    }
    first.requests('edge').record('other', 'GET', 404, 0);
    expect(total(await seriesOf(other), `${requests}_count`)).to.equal(0);
    expect(() => first.durations('linklog_append_duration_seconds', 'Appends')).to.throw('already');
    expect(() => first.durations('linklog_depth', 'Depth')).to.throw('already');
    expect(() => {
      first.gauge({ name: 'linklog_depth', help: 'Depth', read: () => 1 });
    }).to.throw('already');
  });

  it('may have several figures that differ in labels', async () => {
    const metrics = createMetrics();
    for (const pool of ['log', 'edge']) {
      const read = () => [[{ pool }, 2]] as const;
      metrics.gauge({ name: 'linklog_connections', help: 'Connections', labels: ['pool'], read });
    }
    const series = await seriesOf(metrics);
    expect(total(series, 'linklog_connections', { pool: 'edge' })).to.equal(2);
    expect(total(series, 'linklog_connections')).to.equal(4);
  });

  it('include metrics of the process', async () => {
    const names = (await seriesOf(createMetrics())).map(({ name }) => name);
    expect(names).to.include.members([
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'linklog_event_loop_delay_seconds_count',
    ]);
  });

  it('measure the delay of the event loop', () =>
    withVirtualTime(async (advance) => {
      const metrics = createMetrics();
      // The second check runs 0.1 s late.
      await advance(500);
      performance.now = () => 1_100;
      await advance(500);
      const series = await seriesOf(metrics);
      expect(total(series, 'linklog_event_loop_delay_seconds_count')).to.equal(2);
      expect(total(series, 'linklog_event_loop_delay_seconds_sum')).to.be.closeTo(0.1, 1e-9);
    }));
});
