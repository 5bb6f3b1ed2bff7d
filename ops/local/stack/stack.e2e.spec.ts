import { expect } from 'chai';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inheritedEnvironment } from '../../config/config.js';
import { ask, type Answer } from '../../test/support/http.js';
import { kafkaStartMs } from '../../test/support/kafka.js';
import { briefJava } from '../../test/support/stack.js';
import { eventually, within } from '../../test/support/waiting.js';
import { startLinklogCli } from '../../test/support/process.js';
import { folderFixture } from '../../test/support/fixtures.js';

const ours = inheritedEnvironment();
const mainFile = fileURLToPath(new URL('../../app/stack.js', import.meta.url));
const kinds = ['api', 'edge', 'projector', 'kafka', 'postgres', 'redis'] as const;
type Kind = (typeof kinds)[number];

interface Ready {
  readonly apis: readonly string[];
  readonly edges: readonly string[];
  readonly admin: string;
  readonly kafka: string;
  readonly postgres: string;
  readonly redis: string;
  readonly pids: Readonly<Record<Kind, readonly number[]>>;
  readonly pid: number;
  readonly firstKey?: string;
  readonly console?: string;
}

interface Line {
  readonly event: string;
  readonly service?: string;
  readonly index?: number;
  readonly pid: number;
}

class Stack {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown[]>;
  #stdout = '';
  #stderr = '';

  constructor(dataDir: string, args: readonly string[] = []) {
    this.child = spawn(process.execPath, [mainFile, ...args], {
      cwd: '/',
      env: {
        ...{ DATA_DIR: dataDir, LOG_LEVEL: 'warn' },
        ...{ API_PORT: '0', EDGE_PORT: '0', ADMIN_PORT: '0' },
        // For Java, Maven and their caches.
        ...{ PATH: ours['PATH'], HOME: ours['HOME'], ...briefJava },
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.on('data', (text: Buffer) => (this.#stdout += text.toString()));
    this.child.stderr?.on('data', (text: Buffer) => (this.#stderr += text.toString()));
    this.exited = once(this.child, 'exit');
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  lines(event: string): Line[] {
    return this.#stdout
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith(`{"event":"${event}"`))
      .map((line) => JSON.parse(line) as Line);
  }

  async ready(): Promise<Ready> {
    while (this.lines('ready').length === 0) {
      if (this.child.exitCode !== null) throw new Error(`It ended at its start:\n${this.#stderr}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    return this.lines('ready')[0] as unknown as Ready;
  }

  async stop(): Promise<unknown> {
    this.child.kill('SIGTERM');
    return (await this.exited)[0];
  }
}

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

  const dataDir = folderFixture();
  let stack: Stack;
  let ready: Ready;
  let key: string;

  before(async () => {
    stack = new Stack(dataDir.path);
    ready = await stack.ready();
    key = ready.firstKey ?? '';
  });

  after(async () => {
    if (stack.child.exitCode === null) await stack.stop();
  });

  const api = (index: number, path: string, body?: unknown): Promise<Answer> =>
    ask((ready.apis[index] ?? '') + path, {
      headers: { Authorization: `Bearer ${key}` },
      ...(body !== undefined && { method: 'POST', body }),
    });

  /** Visits a link on each edge. */
  const visits = async (code: string): Promise<number[]> => {
    const answers = await Promise.all(ready.edges.map((edge) => ask(`${edge}/${code}`)));
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
    });
    expect(Object.keys(pids)).to.deep.equal(kinds);
    expect(Object.values(pids).map((processes) => processes.length)).to.deep.equal([
      2, 2, 2, 1, 1, 1,
    ]);
    expect(Object.values(pids).flat().every(isAlive)).to.equal(true);
    expect(pid).to.equal(stack.child.pid);
    expect(firstKey).to.match(/^ll_/);
    expect(ready.console).to.match(/^http:\/\/127\.0\.0\.1:\d+\/console#t=/);
    expect(stack.stdout).to.include(`curl -s ${apis[0] ?? ''}/v2/shorten`);
    for (const address of [...apis, ...edges, admin]) {
      expect((await ask(`${address}/health`)).status).to.equal(200);
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

  it('is found by the command line by DATA_DIR', async () => {
    const output = await startLinklogCli(['projections', 'rebuild', 'stats', '--json'], {
      DATA_DIR: dataDir.path,
    }).ended;
    expect(output.exitCode, output.stderr).to.equal(0);
    expect(JSON.parse(output.stdout)).to.deep.include({ projection: 'stats', deadLetters: 0 });
    // The visits of the test before.
    expect((JSON.parse(output.stdout) as { events: number }).events).to.be.at.least(2);
  });

  it('restarts killed processes at their addresses', async () => {
    const victims = kinds.map((kind) => [kind, 0] as const);
    for (const [kind, index] of victims) process.kill(ready.pids[kind][index] ?? 0, 'SIGKILL');
    const restarted = (kind: Kind, index: number): Line | undefined =>
      stack
        .lines('restarted')
        .findLast((line) => line.service === kind && line.index === index && isAlive(line.pid));
    const deadline = performance.now() + 120_000;
    while (!victims.every(([kind, index]) => restarted(kind, index) !== undefined)) {
      if (performance.now() > deadline)
        throw new Error(`not all processes are restarted:\n${stack.stdout}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
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

  const pidOf = (kind: Kind, index: number): number =>
    stack.lines('restarted').findLast((line) => line.service === kind && line.index === index)
      ?.pid ??
    ready.pids[kind][index] ??
    0;

  it('ends the orphans of a killed supervisor, and continues with its data', async () => {
    stack.child.kill('SIGKILL');
    await stack.exited;
    const killed = stack.lines('restarted').map(({ pid }) => pid);
    const left = [...killed, ...Object.values(ready.pids).flat()].filter(isAlive);
    expect(left.length).to.be.at.least(9);
    // The next visits stay in the spools of these edges.
    process.kill(pidOf('kafka', 0), 'SIGKILL');
    expect(await visits('stacked')).to.deep.equal([302, 302]);
    for (const index of [0, 1]) process.kill(pidOf('edge', index), 'SIGKILL');
    // The spool directory of an earlier version, of an edge that is not started again.
    const [spool = ''] = await readdir(join(dataDir.path, 'spool'));
    await mkdir(join(dataDir.path, 'edge-1', 'spool'));
    await rename(join(dataDir.path, 'spool', spool), join(dataDir.path, 'edge-1', 'spool', spool));
    stack = new Stack(dataDir.path, ['--apis', '1', '--edges', '1', '--projectors', '1']);
    ready = await stack.ready();
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
    expect(await within(10_000, 'the stack ends', stack.stop())).to.equal(0);
    expect(Object.values(ready.pids).flat().filter(isAlive)).to.deep.equal([]);
  });

  for (const args of [['--apis', '0'], ['--edges', 'two'], ['--unknown'], ['stray']]) {
    it(`rejects ${args.join(' ')} in one line with exit code 78`, async () => {
      const refused = new Stack(dataDir.path, args);
      expect((await refused.exited)[0]).to.equal(78);
      expect(refused.stderr).to.match(/^linklog: [^\n]+\n$/);
      expect(refused.stdout).to.equal('');
    });
  }
});
