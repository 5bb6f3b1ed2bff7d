import { expect } from 'chai';
import { appendFile, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { packageVersion, projectFile } from '../../platform/files/project-file.js';
import { countByStatus, longestOutage, startLoad } from '../support/balanced-load.js';
import { createComposeSecrets } from '../support/compose-secrets.js';
import { sendRepeatable, sendRequest } from '../support/http.js';
import { runbook } from '../support/runbook.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { buildImage, docker, expectToRun, killContainer, tryDocker } from './docker.js';

/** Addresses that docker-compose.yml publishes. */
const apis = ['http://127.0.0.1:8080', 'http://127.0.0.1:8090'] as const;
const edges = ['http://127.0.0.1:8081', 'http://127.0.0.1:8091'] as const;
const admin = 'http://127.0.0.1:8082';

const services = [
  ...['kafka-1', 'kafka-2', 'kafka-3', 'postgres', 'redis'],
  ...['command-api-1', 'command-api-2', 'redirect-edge-1', 'redirect-edge-2'],
  ...['projectors-1', 'projectors-2'],
] as const;

/** A key of the plan PRO may create 3,000 links a month. */
const keyCount = 20;
const knownCount = 20;

describe('containers: docker-compose.yml', function () {
  this.timeout(1_800_000);
  let dir: string;
  /** Of other containers of this machine. */
  let foreignVolumes: readonly string[];
  let keys: readonly string[];
  const known: string[] = [];
  const acknowledged: string[] = [];
  let answeredVisits = 0;
  let sentVisits = 0;

  const composeArguments = (...args: readonly string[]): readonly string[] => [
    ...['compose', '--project-directory', projectFile(), '--file', 'docker-compose.yml'],
    ...['--file', path.join(dir, 'images.json'), '--env-file', path.join(dir, '.env'), ...args],
  ];
  const compose = (...args: readonly string[]): Promise<string> =>
    docker(...composeArguments(...args));
  const containerOf = (service: string): string => `linklog-${service}-1`;

  /** The images without their digests, because locally built images have others. */
  const writeImages = async (): Promise<void> => {
    const text = await readFile(projectFile('docker-compose.yml'), 'utf8');
    const file = parse(text, { merge: true, maxAliasCount: 1_000 }) as {
      services: Record<string, { image: string }>;
    };
    const images = Object.entries(file.services).map(([name, { image }]) => [
      name,
      { image: image.replace(/@.*/, '') },
    ]);
    const services: unknown = Object.fromEntries(images);
    await writeFile(path.join(dir, 'images.json'), JSON.stringify({ services }));
    await buildImage(file.services['command-api-1']?.image ?? '');
  };

  const writeSettings = async (): Promise<void> => {
    await createComposeSecrets(dir);
    await cp(projectFile('.env.example'), path.join(dir, '.env'));
    await appendFile(path.join(dir, '.env'), `\nSECRETS_DIR=${path.join(dir, 'secrets')}\n`);
  };

  const anonymousVolumes = async (): Promise<readonly string[]> =>
    (await docker('volume', 'ls', '--quiet'))
      .split('\n')
      .filter((name) => /^[0-9a-f]{64}$/.test(name));

  const up = (): Promise<string> => compose('up', '--detach', '--no-build', '--wait');

  const createKeys = async (): Promise<readonly string[]> => {
    const created: string[] = [];
    for (let index = 0; index < keyCount; index += 1) {
      const output = await compose(
        ...['exec', '-T', 'command-api-1', 'linklog', 'keys', 'create'],
        ...['--name', 'load', '--plan', 'PRO', '--account', `load-${index}`, '--json'],
      );
      created.push((JSON.parse(output) as { key: string }).key);
    }
    return created;
  };

  const authorization = (index: number) => ({
    Authorization: `Bearer ${keys[index % keys.length] ?? ''}`,
  });

  const clicksOf = async (index: number): Promise<number> => {
    const url = `${apis[0]}/v2/stats/${known[index] ?? ''}`;
    const response = await sendRepeatable(url, { headers: authorization(index) });
    return (response.json() as { clickCount: number }).clickCount;
  };

  const expectNothingLost = async (): Promise<void> => {
    for (const code of acknowledged) {
      const { status } = await sendRepeatable(`${edges[0]}/${code}`, { method: 'HEAD' });
      expect(status, code).to.equal(302);
    }
    await eventuallyPasses(async () => {
      let clicks = 0;
      for (const index of known.keys()) clicks += await clicksOf(index);
      expect(clicks).to.be.within(answeredVisits, sentVisits);
    }, 60_000);
  };

  before(async () => {
    foreignVolumes = await anonymousVolumes();
    dir = await mkdtemp(path.join(tmpdir(), 'linklog-compose-'));
    await writeSettings();
    await writeImages();
    await compose('--profile', '*', 'down', '--volumes');
    await up();
    keys = await createKeys();
    for (let index = 0; index < knownCount; index += 1) {
      const response = await sendRequest(`${apis[index % 2] ?? ''}/v2/shorten`, {
        method: 'POST',
        headers: authorization(index),
        body: { url: `https://example.com/known/${index}` },
      });
      expect(response.status, response.text).to.equal(201);
      known.push((response.json() as { shortCode: string }).shortCode);
    }
  });

  after(async () => {
    await compose('--profile', '*', 'down', '--volumes');
    await rm(dir, { recursive: true });
  });

  it('starts 11 healthy containers, none of which runs as root', async () => {
    const running = (await compose('ps', '--format', '{{.Service}} {{.Health}}')).split('\n');
    expect(running.sort()).to.deep.equal(services.map((name) => `${name} healthy`).sort());
    for (const name of services) {
      const [, uid] =
        (await docker('top', containerOf(name), '-eo', 'pid,uid'))
          .split('\n')[1]
          ?.trim()
          .split(/\s+/) ?? [];
      expect(uid, name).to.not.equal('0');
    }
  });

  it('serves links, visits, statistics and the console on each node', async () => {
    for (const [index, code] of known.entries()) {
      expect((await sendRequest(`${edges[index % 2] ?? ''}/${code}`)).status).to.equal(302);
      answeredVisits += 1;
      sentVisits += 1;
    }
    for (const api of apis) {
      expect((await sendRequest(`${api}/console`)).status).to.equal(200);
      expect((await sendRequest(`${api}/health/ready`)).status).to.equal(200);
    }
    expect((await sendRequest(`${admin}/console`)).status).to.equal(200);
    await eventuallyPasses(async () => {
      for (const index of known.keys()) expect(await clicksOf(index)).to.equal(1);
    });
  });

  it('runs the documented commands in another terminal', async () => {
    expect(await compose('exec', '-T', 'command-api-1', 'linklog', 'console')).to.include(
      '/console#t=',
    );
    expect(await compose('logs', '--tail', '1', 'projectors-1')).to.include('projectors-1');
    const logs = await tryDocker(composeArguments('logs', 'command-api-1', 'redirect-edge-1'));
    expect(logs.stdout.toString()).to.not.match(/"\/health"|ll_[A-Za-z0-9]{38}/);
    const backup = await tryDocker(composeArguments('run', '--rm', '-T', 'linklog', 'backup', '-'));
    expect(backup.exitCode, backup.stderr).to.equal(0);
    expect(backup.stdout.subarray(0, 20).toString()).to.include('linklogBackup');
  });

  it('runs the commands of the runbook', async () => {
    const functions = runbook.forms.compose.replaceAll(
      'docker compose',
      `docker ${composeArguments().join(' ')}`,
    );
    const inService = (service: string): string => functions.replace('command-api-1', service);
    await expectToRun(inService('command-api-2'), runbook.first);
    for (const { alert, commands } of runbook.sections) {
      const service = alert.includes('Seals')
        ? 'projectors-1'
        : /Spool|Visits/.test(alert)
          ? 'redirect-edge-1'
          : 'command-api-1';
      await expectToRun(inService(service), commands);
    }
  });

  it('adds a verified backup in the profile of backups, which an empty installation restores', async () => {
    await compose('--profile', 'backup', 'up', '--detach', '--no-build', 'backup');
    let file = '';
    await eventually(
      'there is a backup',
      async () => {
        file = await compose('exec', '-T', 'backup', 'ls', '/backups');
        return file.endsWith('.backup');
      },
      120_000,
    );
    const restored = await tryDocker([
      ...['run', '--rm', '--volume', 'linklog_backups:/backups', `linklog:${packageVersion()}`],
      ...['linklog', 'restore', `/backups/${file}`],
    ]);
    expect(restored.exitCode, restored.stderr).to.equal(0);
    await compose('--profile', 'backup', 'rm', '--stop', '--force', 'backup');
  });

  it('loses no acknowledged link and no answered visit when each container is killed', async () => {
    const load = startLoad({ apis: () => apis, edges: () => edges, keys, known });
    const outages: string[] = [];
    for (const name of services) {
      const [created, visited] = [load.creations.length, load.redirects.length];
      await killContainer(containerOf(name));
      await eventually(
        `${name} is healthy again`,
        async () => {
          const format = '{{.State.Status}} {{.State.Health.Status}}';
          const state = await docker('inspect', '--format', format, containerOf(name));
          return state === 'running healthy';
        },
        180_000,
      );
      // Requests succeed again before the next kill.
      const succeeded = load.acknowledged.length;
      await eventually(
        `links are created after the kill of ${name}`,
        () => load.acknowledged.length > succeeded + 5,
        60_000,
      );
      const longest = (answers: typeof load.creations, from: number, success: number): string =>
        String(Math.round(longestOutage(answers.slice(from), (status) => status === success)));
      outages.push(
        `${name}: POST ${longest(load.creations, created, 201)} ms, ` +
          `redirects ${longest(load.redirects, visited, 302)} ms`,
      );
    }
    const { redirects, creations, acknowledged: codes } = await load.stop();
    process.stdout.write(
      `      ${outages.join('\n      ')}\n      POST ${JSON.stringify(countByStatus(creations))}, ` +
        `redirects ${JSON.stringify(countByStatus(redirects))}\n`,
    );
    acknowledged.push(...codes);
    answeredVisits += redirects.filter(({ status }) => status === 302).length;
    // A node that broke a connection may have recorded the visit that the next node answered.
    sentVisits += 3 * redirects.length;
    await expectNothingLost();
    const audit = await tryDocker(
      composeArguments('run', '--rm', '-T', 'linklog', 'audit', 'verify'),
    );
    expect(audit.exitCode, audit.stderr).to.equal(0);
  });

  it('keeps everything over down and up, and leaves no anonymous volume', async () => {
    await compose('down');
    await up();
    await expectNothingLost();
    expect(await anonymousVolumes()).to.deep.equal(foreignVolumes);
  });
});
