import { expect } from 'chai';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { inheritedEnvironment } from '../../config/config.js';
import type { PartKind, Pids } from './parts.js';
import type { StackAddresses } from './stack.js';
import { sendRequest, type HttpResponse } from '../../test/support/http.js';
import { kafkaStartMs } from '../../test/support/kafka.js';
import { needs } from '../../test/support/needs.js';
import { briefJava, pidsIn, stackPrograms } from '../../test/support/stack.js';
import { eventually, within } from '../../test/support/waiting.js';
import { launch, readyLine, type RunningProcess } from '../../test/support/process.js';
import { folderFixture } from '../../test/support/fixtures.js';

const { PATH = '', HOME = '' } = inheritedEnvironment();
const mainFile = fileURLToPath(new URL('../../app/stack.js', import.meta.url));
const kinds = ['api', 'edge', 'projector', 'kafka', 'postgres', 'redis'] as const;
interface Ready extends StackAddresses {
  readonly pids: Pids;
  readonly pid: number;
  readonly firstKey?: string;
  readonly firstKeyHeader?: string;
  readonly console?: string;
}

const startStack = (dataDir: string, args: readonly string[] = []): RunningProcess =>
  // For Java, Maven and their caches.
  launch({ PATH, HOME, ...briefJava, DATA_DIR: dataDir }, [mainFile, ...args]);

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // ESRCH
  }
};

describe('local servers: npm run stack', function () {
  // Kafka may have to be downloaded first.
  this.timeout(kafkaStartMs);
  needs(...stackPrograms);

  const dataDir = folderFixture();
  let stack: RunningProcess;
  let ready: Ready;
  let key: string;

  before(async () => {
    stack = startStack(dataDir.path);
    ready = (await readyLine(stack)) as Ready;
    key = ready.firstKey ?? '';
  });

  after(async () => {
    stack.child.kill('SIGTERM');
    await stack.ended;
  });

  const api = (index: number, path: string, body?: unknown): Promise<HttpResponse> =>
    sendRequest((ready.apis[index] ?? '') + path, {
      headers: { Authorization: `Bearer ${key}` },
      ...(body !== undefined && { method: 'POST', body }),
    });

  const currentPids = (): Pids => pidsIn(ready, stack.stdout());
  const pidOf = (kind: PartKind, index: number): number => currentPids()[kind][index] ?? 0;

  const visits = async (code: string): Promise<number[]> => {
    const answers = await Promise.all(ready.edges.map((edge) => sendRequest(`${edge}/${code}`)));
    return answers.map(({ status }) => status);
  };

  const clicks = async (index: number, code: string): Promise<unknown> => {
    const answer = await api(index, `/v2/stats/${code}`);
    return (answer.json() as { clickCount?: unknown }).clickCount;
  };

  it('prints a ready line with addresses, processes and the first key', async () => {
    const { apis, edges, admin, kafka, postgres, redis, pids, pid, firstKey } = ready;
    expect(ready).to.deep.equal({
      event: 'ready',
      ...{ apis, edges, admin, kafka, postgres, redis, pids, pid, firstKey },
      console: ready.console,
      firstKeyHeader: ready.firstKeyHeader,
    });
    expect(await readFile(ready.firstKeyHeader ?? '', 'utf8')).to.equal(
      `Authorization: Bearer ${firstKey ?? ''}\n`,
    );
    expect(Object.keys(pids)).to.deep.equal(kinds);
    expect(Object.values(pids).map((processes) => processes.length)).to.deep.equal([
      2, 2, 2, 1, 1, 1,
    ]);
    expect(Object.values(pids).flat().every(isAlive)).to.equal(true);
    expect(pid).to.equal(stack.child.pid);
    expect(firstKey).to.match(/^ll_/);
    expect(ready.console).to.match(/^http:\/\/127\.0\.0\.1:\d+\/console#t=/);
    expect(stack.stdout()).to.include(`curl -s ${apis[0] ?? ''}/v2/shorten`);
    for (const address of [...apis, ...edges, admin]) {
      expect((await sendRequest(`${address}/health`)).status).to.equal(200);
    }
  });

  it('redirects a new link on each edge immediately, and counts the visits', async () => {
    const response = await api(0, '/v2/shorten', { url: 'https://example.com/', alias: 'stacked' });
    expect(response.status, response.text).to.equal(201);
    expect(await visits('stacked')).to.deep.equal([302, 302]);
    await eventually('both visits are counted', async () => (await clicks(1, 'stacked')) === 2);
    expect(response.json()).to.have.property('shortUrl', `${shortUrlHost()}/stacked`);
  });

  const shortUrlHost = (): string => `http://localhost:${new URL(ready.edges[0] ?? '').port}`;

  it('restarts killed processes at their addresses', async () => {
    const victims = kinds.map((kind) => [kind, 0] as const);
    for (const [kind, index] of victims) process.kill(ready.pids[kind][index] ?? 0, 'SIGKILL');
    const isRestarted = ([kind, index]: (typeof victims)[number]): boolean =>
      pidOf(kind, index) !== ready.pids[kind][index] && isAlive(pidOf(kind, index));
    await eventually('the processes are restarted', () => victims.every(isRestarted), 120_000);
    expect(await visits('stacked')).to.deep.equal([302, 302]);
    let response = await api(1, '/v2/shorten', { url: 'https://example.com/' });
    // The log is unavailable until Kafka has registered its broker again.
    while (response.status === 503)
      response = await api(1, '/v2/shorten', { url: 'https://example.com/' });
    expect(response.status, response.text).to.equal(201);
    await eventually('all visits are counted', async () => {
      return (await clicks(0, 'stacked')) === 4;
    });
  });

  it('ends the orphans of a killed supervisor, and continues with its data', async () => {
    const exited = once(stack.child, 'exit');
    stack.child.kill('SIGKILL');
    await exited;
    const left = Object.values(currentPids()).flat();
    expect(left.filter(isAlive)).to.have.length(9);
    // The next visits stay in the spools of these edges.
    process.kill(pidOf('kafka', 0), 'SIGKILL');
    expect(await visits('stacked')).to.deep.equal([302, 302]);
    for (const index of [0, 1]) process.kill(pidOf('edge', index), 'SIGKILL');
    stack = startStack(dataDir.path, ['--apis', '1', '--edges', '1', '--projectors', '1']);
    ready = (await readyLine(stack)) as Ready;
    expect(left.filter(isAlive)).to.deep.equal([]);
    expect(ready).not.to.have.property('firstKey');
    expect(Object.values(ready.pids).map((processes) => processes.length)).to.deep.equal([
      1, 1, 1, 1, 1, 1,
    ]);
    expect(await visits('stacked')).to.deep.equal([302]);
    await eventually('the visits of both killed edges are counted', async () => {
      return (await clicks(0, 'stacked')) === 7;
    });
  });

  it('ends all processes within 10 s of SIGTERM', async () => {
    stack.child.kill('SIGTERM');
    expect(await within(10_000, 'the stack ends', stack.ended)).to.have.property('exitCode', 0);
    expect(Object.values(ready.pids).flat().filter(isAlive)).to.deep.equal([]);
  });

  const rejectionOf = async (dir: string, args: readonly string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await startStack(dir, args).ended;
    expect({ exitCode, stdout }).to.deep.equal({ exitCode: 78, stdout: '' });
    return stderr;
  };

  it('rejects invalid arguments in one line with exit code 78', async () => {
    for (const args of [['--apis', '0'], ['--edges', 'two'], ['--brokers', '6'], ['stray']]) {
      expect(await rejectionOf(dataDir.path, args), args.join(' ')).to.match(/^linklog: [^\n]+\n$/);
    }
  });

  it('rejects another number of brokers than DATA_DIR has', async () => {
    for (const [count, refused] of [
      [3, 1],
      [1, 3],
    ] as const) {
      const dir = path.join(dataDir.path, String(count));
      for (const broker of ['kafka', 'kafka-2', 'kafka-3'].slice(0, count)) {
        await mkdir(path.join(dir, broker, 'data'), { recursive: true });
        await writeFile(path.join(dir, broker, 'data', 'meta.properties'), 'cluster.id=some\n');
      }
      expect(await rejectionOf(dir, ['--brokers', String(refused)])).to.equal(
        `linklog: DATA_DIR ${dir} contains the data of ${count} Kafka brokers, but --brokers is ${refused}; ` +
          `start with --brokers ${count}, or with another DATA_DIR\n`,
      );
    }
  });
});
