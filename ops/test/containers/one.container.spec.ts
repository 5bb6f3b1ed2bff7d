import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { packageVersion, projectFile } from '../../platform/files/project-file.js';
import { sendRequest } from '../support/http.js';
import { runbook } from '../support/runbook.js';
import { eventuallyPasses } from '../support/waiting.js';
import {
  buildImage,
  docker,
  expectToRun,
  killContainer,
  nodeImage,
  publishedAt,
  stateOf,
  tryDocker,
  untilReady,
} from './docker.js';

const image = 'linklog-test/current';
const published = ['--publish', '127.0.0.1:0:8080', '--publish', '127.0.0.1:0:8081'] as const;

interface Running {
  readonly name: string;
  readonly api: string;
  readonly edge: string;
  /** The headers with the key that `createKey` created. */
  readonly headers: Readonly<Record<string, string>>;
}

describe('containers: one container', function () {
  this.timeout(600_000);
  const containers: string[] = [];
  const volumes: string[] = [];

  before(() => buildImage(image));

  afterEach(async () => {
    if (containers.length > 0) await docker('rm', '--force', ...containers.splice(0));
    if (volumes.length > 0) await docker('volume', 'rm', ...volumes.splice(0));
  });

  const newVolume = async (): Promise<string> => {
    const volume = await docker('volume', 'create');
    volumes.push(volume);
    return volume;
  };

  const startContainer = async (
    volume: string,
    options: readonly string[] = [],
    from = image,
  ): Promise<string> => {
    const mounted = `${volume}:/data`;
    const name = await docker(
      'run',
      '--detach',
      ...published,
      '--volume',
      mounted,
      ...options,
      from,
    );
    containers.push(name);
    return name;
  };

  const addressesOf = async (name: string) => {
    const [api, edge] = [await publishedAt(name, 8080), await publishedAt(name, 8081)];
    await untilReady(api);
    return { name, api, edge };
  };

  const createKey = async (
    name: string,
    linklog: readonly string[] = ['linklog'],
  ): Promise<Running['headers']> => {
    const created = await docker(
      ...['exec', name, ...linklog, 'keys', 'create'],
      ...['--name', 'mine', '--plan', 'PRO', '--json'],
    );
    return { Authorization: `Bearer ${(JSON.parse(created) as { key: string }).key}` };
  };

  const start = async (volume: string, options: readonly string[] = []): Promise<Running> => {
    const running = await addressesOf(await startContainer(volume, options));
    return { ...running, headers: await createKey(running.name) };
  };

  const shorten = async (running: Running, alias: string): Promise<void> => {
    const response = await sendRequest(`${running.api}/v2/shorten`, {
      method: 'POST',
      headers: running.headers,
      body: { url: 'https://example.com/', alias },
    });
    expect(response.status, response.text).to.equal(201);
  };

  const expectClicks = ({ api, headers }: Running, alias: string, clicks: number): Promise<void> =>
    eventuallyPasses(async () => {
      const response = await sendRequest(`${api}/v2/stats/${alias}`, { headers });
      expect((response.json() as { clickCount: number }).clickCount).to.equal(clicks);
    });

  const visit = async ({ edge }: Running, alias: string): Promise<void> => {
    expect((await sendRequest(`${edge}/${alias}`)).status, alias).to.equal(302);
  };

  it('adds less than 100 MB to its base, without specs, maps, declarations, sources and settings', async () => {
    const sizes = await docker(
      'history',
      '--human=false',
      '--format',
      '{{.Size}} {{.CreatedBy}}',
      image,
    );
    const own = sizes.split('\n').slice(
      0,
      sizes
        .split('\n')
        .findIndex((line) => line.includes('CMD ["node"]') && !line.includes('dist')),
    );
    const bytes = own.reduce((sum, line) => sum + Number(line.split(' ')[0]), 0);
    expect(bytes).to.be.within(1e6, 100e6);
    const names = String.raw`\( -name '*.spec.*' -o -name '*.map' -o -name '*.ts' -o -name '.env*' -o -path '*/node_modules/typescript' -o -name mocha \)`;
    const found = await docker('run', '--rm', image, 'sh', '-c', `find /app ${names}`);
    expect(found).to.equal('');
  });

  for (const [title, options] of [
    ['with the options of the README', []],
    [
      'with a read-only root, without capabilities, in 384 MB',
      ['--read-only', '--cap-drop', 'ALL', '--memory', '384m'],
    ],
  ] as const) {
    it(`serves links, visits, statistics, QR codes and the console ${title}`, async () => {
      const running = await start(await newVolume(), options);
      await shorten(running, 'hello');
      await visit(running, 'hello');
      await expectClicks(running, 'hello', 1);
      const { api, headers } = running;
      const qr = await sendRequest(`${api}/v2/qr/hello`, { headers });
      expect([qr.status, qr.headers['content-type']]).to.deep.equal([200, 'image/png']);
      const console = await sendRequest(`${api}/console`);
      expect([console.status, console.headers['content-type']]).to.deep.equal([
        200,
        'text/html; charset=utf-8',
      ]);
      expect((await sendRequest(`${api}/docs`)).status).to.equal(200);
      const link = await docker('exec', running.name, 'linklog', 'console');
      expect(link).to.include('http://127.0.0.1:8080/console#t=');
      expect(await docker('exec', running.name, 'id', '--user')).to.equal('1000');
      expect(
        await docker('exec', running.name, 'sh', '-c', 'ls -A ~ | grep cache || true'),
      ).to.equal('');
      // The container's log has neither a key nor a line for each health check.
      await sleep(25_000);
      const logs = await tryDocker(['logs', running.name]);
      expect(logs.stdout.toString() + logs.stderr).to.not.match(/ll_[A-Za-z0-9]{38}|"\/health"/);
      expect(
        await docker('inspect', '--format', '{{.State.Health.Status}}', running.name),
      ).to.equal('healthy');
    });
  }

  it('runs the commands of the runbook', async () => {
    const running = await start(await newVolume());
    await shorten(running, 'seen');
    await visit(running, 'seen');
    await expectClicks(running, 'seen', 1);
    const functions = runbook.forms.container.replace('exec linklog', `exec ${running.name}`);
    await expectToRun(functions, runbook.first);
    for (const { commands } of runbook.sections) await expectToRun(functions, commands);
  });

  it('keeps links and visits over stop, restart and kill -9', async () => {
    const running = await start(await newVolume());
    await shorten(running, 'kept');
    let visits = 0;
    const again = async (act: () => Promise<unknown>): Promise<void> => {
      await visit(running, 'kept');
      visits += 1;
      await act();
      Object.assign(running, await addressesOf(running.name));
      await expectClicks(running, 'kept', visits);
    };
    await again(() => docker('restart', '--time', '20', running.name));
    await again(async () => {
      await docker('stop', '--time', '20', running.name);
      expect(await stateOf(running.name)).to.equal('exited 0');
      await docker('start', running.name);
    });
    await again(async () => {
      await killContainer(running.name);
      await eventuallyPasses(async () => {
        expect(await stateOf(running.name)).to.equal('exited 137');
      });
      await docker('start', running.name);
    });
  });

  it('ends a second container on the same volume with one line, and the first continues', async () => {
    const volume = await newVolume();
    const running = await start(volume);
    const second = await tryDocker(['run', '--rm', '--volume', `${volume}:/data`, image]);
    expect(second.stderr).to.match(
      /^linklog: \/data is in use by process \d+ in another container or machine \(host name \w+\)\n$/,
    );
    expect([second.exitCode, second.stdout.toString()]).to.deep.equal([1, '']);
    await shorten(running, 'first');
    await visit(running, 'first');
  });

  it('runs the commands of containers.md', async () => {
    const page = await readFile(projectFile('ops', 'docs', 'containers.md'), 'utf8');
    const [section = ''] = page.split('## The large form');
    const blocks = [...section.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = '']) => block);
    expect(blocks).to.have.length(5);
    const dir = await mkdtemp(path.join(tmpdir(), 'linklog-page-'));
    const script = blocks
      .join('\n')
      // A locally built image of Node.js has another digest.
      .replace('docker build', `docker build --build-arg NODE=${await nodeImage()}`)
      .replaceAll('linklog.backup', path.join(dir, 'linklog.backup'))
      // Its ports are those of the first container.
      .replace('docker compose', 'docker rm --force linklog && docker compose')
      .replace('up --build --detach', 'up --detach');
    const remove = async (): Promise<void> => {
      await tryDocker(['compose', '--file', 'ops/compose.yml', 'down', '--volumes']);
      await tryDocker(['rm', '--force', 'linklog']);
      await tryDocker(['volume', 'rm', 'linklog', 'linklog-new']);
    };
    await remove();
    await docker('tag', image, `linklog:${packageVersion()}`);
    try {
      const { stdout } = await promisify(execFile)('bash', ['-euxc', script], {
        cwd: projectFile(),
        maxBuffer: 64 * 1_024 ** 2,
      });
      expect(stdout).to.match(/ll_[0-9A-Za-z]{38}/);
      expect(stdout).to.include('/console#t=');
      expect(stdout).to.match(/Restored \d+ events/);
    } finally {
      await remove();
      await rm(dir, { recursive: true });
    }
  });
});
