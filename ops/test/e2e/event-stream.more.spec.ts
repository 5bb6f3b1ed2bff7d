import { expect } from 'chai';
import { folderFixture } from '../support/fixtures.js';
import { concurrently } from '../support/http.js';
import { startProduct, type IssuedKey } from '../support/product.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { eventStreams, expectEnd, subjectsOf } from './events-harness.js';
import { Bench, sharedProduct, timestampPattern } from './harness.js';

describe('command API: streams of events over a longer time', () => {
  const bench = sharedProduct();
  const { open } = eventStreams(bench);
  let accounts = 0;

  const newKey = (account?: string): Promise<IssuedKey> => {
    accounts += 1;
    return bench.key('PRO', { account: account ?? `long-streams-${accounts}` });
  };

  it('send their position after 15 s without an event, from which a client resumes', async () => {
    const key = await newKey();
    const stream = await open(key);
    await eventually('the position is sent', () => stream.messages().length > 0, 60_000);
    const pattern = /^retry: 2000\n\nevent: position\nid: [\w-]+\ndata: (\{.*\})\n\n$/;
    const data = JSON.parse(pattern.exec(stream.text())?.[1] ?? 'null') as { time: string };
    expect(data).to.have.all.keys('time');
    expect(data.time).to.match(timestampPattern);
    const id = stream.lastEventId();
    stream.close();
    const { shortCode } = await bench.link(key.key);
    const resumed = await open(key, '', { 'Last-Event-ID': id });
    await resumed.expectEvents(1);
    expect(subjectsOf(resumed)).to.deep.equal([shortCode]);
  });
});

// A product of its own, because it is stopped.
describe('command API: streams of events over a restart', () => {
  const folder = folderFixture();
  const bench = new Bench();
  const { open } = eventStreams(bench);
  after(() => bench.end());

  /** Creates links until the process refuses connections. Returns their codes. */
  const createUntilStopped = async ({ key }: IssuedKey): Promise<readonly string[]> => {
    const codes: string[] = [];
    for (;;) {
      try {
        codes.push((await bench.link(key)).shortCode);
      } catch {
        return codes;
      }
    }
  };

  it('end when the process drains; clients resume without a loss', async () => {
    bench.use(await startProduct({ dataDir: folder.path }));
    const key = await bench.key('PRO');
    const stream = await open(key, 'types=LinkCreated');
    const writing = concurrently(4, () => createUntilStopped(key));
    await eventually('the stream has events', () => stream.events().length > 20);
    await bench.product.stop();
    await expectEnd(stream);
    const codes = (await writing).flat();

    bench.use(await startProduct({ dataDir: folder.path }));
    codes.push((await bench.link(key.key)).shortCode);
    const lastId = { 'Last-Event-ID': stream.lastEventId() };
    const resumed = await open(key, 'types=LinkCreated', lastId);
    await eventuallyPasses(() => {
      expect([...subjectsOf(stream), ...subjectsOf(resumed)]).to.include.members(codes);
    }, 30_000);
    expect(subjectsOf(resumed)).to.not.be.empty;
  }).timeout(180_000);
});
