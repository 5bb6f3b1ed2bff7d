import { expect } from 'chai';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { concurrently, sendRequest, statuses } from '../support/http.js';
import { serversFor, startProduct, type IssuedKey } from '../support/product.js';
import { Bench, destination, expectError, passwordForm, type Link } from './harness.js';
import {
  type RunningCommand,
  type CommandOutput,
  startLinklogCli,
  temporaryDir,
} from '../support/process.js';
import type { StatsResponse } from '../../../schemas/http/statistics.js';
import { folderFixture } from '../support/fixtures.js';

/** Repeats an action sequentially until `stop`. */
interface Load {
  readonly done: number;
  stop(): Promise<void>;
}

const repeatedly = (act: () => Promise<void>): Load => {
  const stopped = new AbortController();
  let done = 0;
  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      await act();
      done += 1;
    }
  };
  const running = run();
  return {
    get done() {
      return done;
    },
    async stop() {
      stopped.abort();
      await running;
    },
  };
};

const options = {
  redirectStatus: 307,
  ...{ expiredUrl: 'https://example.com/over', forwardPath: true, forwardQuery: true },
  card: { title: 'Sale', description: 'All', image: 'https://example.com/a.png' },
  rules: [
    {
      ...{ name: 'office', url: 'https://example.com/office?utm_source=x' },
      when: { networks: ['127.0.0.0/8', '::1'], query: { a: null } },
    },
  ],
};

describe('product: backup under load, restored into a new installation', () => {
  const old = new Bench();
  const restored = new Bench();
  let dir: string;
  let file: string;
  let target: string;
  let quiet: IssuedKey;
  let busy: IssuedKey;
  let revoked: IssuedKey;
  let plain: Link;
  let limited: Link;
  let usedUp: Link;
  let blocked: Link;
  let secret: Link;
  let watched: Link;
  let contested: Link;
  let optional: Link;
  let stateBefore: Record<string, unknown>;
  let usageBefore: unknown;
  let busyLinks: readonly string[];
  let webhookId: string;
  /** The path of the plain link's shared statistics. */
  let sharePath: string;
  /** A cursor of the old log. */
  let cursor: string;
  /** Counts acknowledged when the backup started. */
  let acknowledged: { visits: number; links: number; qrCodes: number; calls: number };

  const start = async (args: readonly string[], dataDir: string): Promise<RunningCommand> =>
    startLinklogCli(args, { ...(await serversFor(dataDir)), DATA_DIR: dataDir });

  const linklog = async (args: readonly string[], dataDir: string): Promise<CommandOutput> =>
    (await start(args, dataDir)).ended;

  /** The state that clients and operators see, without what the load changes. */
  const readState = async (bench: Bench): Promise<Record<string, unknown>> => {
    const json = async (response: ReturnType<Bench['api']>): Promise<unknown> =>
      (await response).json();
    const keys = (await json(bench.admin('GET', '/admin/keys'))) as { keys: { id: string }[] };
    const found = await bench.api('/v2/links/backup-second', quiet.key);
    const byCode = (
      await bench.api('/v2/stats/backup-second?include=codes,campaigns', quiet.key)
    ).json() as StatsResponse;
    const ofKeys = keys.keys.filter(({ id }) => id !== busy.id);
    return {
      keys: ofKeys.map((key) => ({ ...key, usage: null, lastUsedAt: null })),
      platform: await json(bench.admin('GET', '/admin/platform')),
      history: await json(bench.admin('GET', `/admin/links/${blocked.shortCode}/history`)),
      stats: await Promise.all(
        [plain, limited, usedUp, blocked, secret].map(({ shortCode }) =>
          bench.stats(shortCode, quiet.key),
        ),
      ),
      options: JSON.parse(found.text.replace(/localhost:\d+/g, 'localhost')) as unknown,
      byCode: { ...byCode, period: { ...byCode.period, from: null, to: null } },
    };
  };

  const statusOf = async (bench: Bench, { shortCode }: Link): Promise<number> =>
    (await bench.visit(shortCode)).status;

  before('run, back up under load, stop, restore, start', async function () {
    this.timeout(180_000);
    dir = await temporaryDir();
    target = await temporaryDir();
    file = path.join(dir, 'linklog.backup');
    await old.start();
    quiet = await old.key('INDIE', { account: 'acme', name: 'quiet' });
    busy = await old.key('PRO');
    revoked = await old.key('PRO');
    await old.admin('DELETE', `/admin/keys/${revoked.id}`);
    await old.admin('PUT', '/admin/reserved-aliases/docs/override', { account: 'acme' });
    plain = await old.link(quiet.key, { alias: 'Spring-Sale' });
    limited = await old.link(quiet.key, { maxClicks: 5 });
    usedUp = await old.link(quiet.key, { maxClicks: 1 });
    blocked = await old.link(quiet.key);
    secret = await old.link(quiet.key, { password: 'open sesame' });
    optional = await old.link(quiet.key, { alias: 'backup-options', ...options });
    for (const [index, alias] of ['backup-second', 'backup-removed'].entries()) {
      const path = '/v2/links/backup-options/codes';
      await old.api(path, quiet.key, { method: 'POST', body: { alias } });
      const removal = `${path}/${alias}`;
      if (index === 1) await old.api(removal, quiet.key, { method: 'DELETE' });
    }
    expect((await old.visit('backup-second/a')).status).to.equal(307);
    watched = await old.link(busy.key);
    contested = await old.link(busy.key, { maxClicks: 1_000 });
    for (const link of [plain, plain, limited, limited, usedUp]) {
      expect(await statusOf(old, link)).to.equal(302);
    }
    const block = { reason: 'phishing' };
    await old.admin('POST', `/admin/links/${blocked.shortCode}/block`, block);
    await old.admin('PATCH', '/admin/platform', { features: { expiration: false } });
    const created = await old.api('/v2/webhooks', quiet.key, {
      ...{ method: 'POST', body: { url: 'https://receiver.invalid/hook' } },
    });
    webhookId = (created.json() as { id: string }).id;
    const shared = await old.api(`/v2/links/${plain.shortCode}/share`, quiet.key, {
      ...{ method: 'POST', body: { password: 'open sesame' } },
    });
    sharePath = new URL((shared.json() as { url: string }).url).pathname;
    const page = await old.api('/v2/events?limit=5', quiet.key);
    cursor = (page.json() as { next: string }).next;
    for (let number = 0; number < 3; number += 1) {
      const response = await old.api(`/v2/qr/${plain.shortCode}`, quiet.key);
      expect(response.status).to.equal(200);
    }

    const codes: string[] = [];
    const loads = {
      visits: repeatedly(async () => {
        expect(await statusOf(old, watched)).to.equal(302);
      }),
      clicks: repeatedly(async () => {
        expect(await statusOf(old, contested)).to.be.oneOf([302, 410]);
      }),
      links: repeatedly(async () => {
        const response = await old.shorten(busy.key, { url: destination });
        // A busy machine can exceed the deadline of a request.
        expect(response.status, response.text).to.be.oneOf([201, 503]);
        if (response.status === 201) codes.push((response.json() as Link).shortCode);
        await sleep(5);
      }),
      qrCodes: repeatedly(async () => {
        await old.api(`/v2/qr/${watched.shortCode}`, busy.key);
      }),
      switches: repeatedly(async () => {
        await old.admin('PATCH', '/admin/platform', { features: { shortening: true } });
        await old.admin('PATCH', `/admin/keys/${busy.id}`, { name: `busy ${codes.length}` });
      }),
    };
    await sleep(1_500);
    for (const [link, clicks] of [
      [plain, 2],
      [limited, 2],
      [usedUp, 1],
      [optional, 1],
    ] as const) {
      await old.expectClicks(link.shortCode, quiet.key, clicks);
    }
    stateBefore = await readState(old);
    busyLinks = [...codes];
    acknowledged = {
      visits: loads.visits.done,
      links: busyLinks.length,
      qrCodes: loads.qrCodes.done,
      calls: (await old.usage(busy.key)).calls,
    };
    const said = await linklog(['backup', file, '--json'], old.product.dataDir);
    expect(said.exitCode, said.stderr).to.equal(0);
    expect(JSON.parse(said.stdout)).to.include({ file, unshippedBytes: 0 });
    for (const load of Object.values(loads)) await load.stop();
    usageBefore = await old.usage(quiet.key);
    await old.product.stop();

    const filled = await linklog(['restore', file, '--json'], target);
    expect(filled.exitCode, filled.stderr).to.equal(0);
    restored.use(await startProduct({ dataDir: target }));
  });

  after(async () => {
    await restored.end();
    await old.end();
    for (const path of [dir, target]) await rm(path, { recursive: true, force: true });
  });

  it('restores keys, switches, overrides, histories, statistics and quotas', async () => {
    expect(restored.product.firstKey).to.equal(null);
    expect(await restored.usage(quiet.key)).to.deep.equal(usageBefore);
    expect(await readState(restored)).to.deep.equal(stateBefore);
    const docs = await restored.shorten(quiet.key, { url: destination, alias: 'docs' });
    expect(docs.status, docs.text).to.equal(201);
    const late = await restored.shorten(quiet.key, { url: destination, expiresIn: 60 });
    expect(late.status).to.equal(400);
    expect((await restored.api('/v2/usage', revoked.key)).status).to.equal(401);
  });

  it('rejects cursors of the former log, and disables webhooks until a replay', async () => {
    const page = await restored.api(`/v2/events?after=${cursor}`, quiet.key);
    expectError(page, {
      ...{
        status: 409,
        message: 'The cursor belongs to another log',
        path: '/v2/events',
        method: 'GET',
      },
    });
    const webhook = async () => (await restored.api(`/v2/webhooks/${webhookId}`, quiet.key)).json();
    expect(await webhook()).to.include({
      status: 'disabled',
      disabledReason:
        'The position of this webhook was lost by a restore. Replay from a point of the log',
    });
    const replay = await restored.admin('POST', `/admin/webhooks/${webhookId}/replay`, {
      after: 'start',
    });
    expect(replay.status).to.equal(202);
    expect(await webhook()).to.include({ status: 'enabled', disabledReason: null });
  });

  it('shows shared statistics at the same address, with the same password', async () => {
    const address = restored.product.api + sharePath;
    expect((await sendRequest(address, passwordForm('open'))).status).to.equal(401);
    expect((await sendRequest(address, passwordForm('open sesame'))).status).to.equal(303);
  });

  it('redirects as before, and never reuses a code', async () => {
    const visit = await restored.visit(plain.shortCode);
    expect([visit.status, visit.headers.location]).to.deep.equal([302, destination]);
    expect(await statusOf(restored, usedUp)).to.equal(410);
    expect((await restored.visit(blocked.shortCode)).json()).to.include({ errorType: 'BLOCKED' });
    const again = await restored.shorten(quiet.key, { url: destination, alias: 'Spring-Sale' });
    expect(again.json()).to.include({ message: 'Alias is already taken' });
    const form = passwordForm('open sesame');
    expect((await restored.visit(secret.shortCode, form)).status).to.equal(303);
  });

  it('keeps the options and the codes of a link', async () => {
    const { headers, status } = await restored.visit('backup-second/a');
    expect([status, headers.location]).to.deep.equal([
      307,
      'https://example.com/office/a?utm_source=x',
    ]);
    expect(stateBefore['options']).to.deep.include({ ...options, shortCode: 'backup-options' });
    const previewer = { headers: { 'User-Agent': 'Slackbot-LinkExpanding 1.0' } };
    expect((await restored.visit('backup-options', previewer)).text).to.include('Sale');
    expect((await restored.visit('backup-removed')).status).to.equal(410);
  });

  it('keeps the remaining clicks of a limit, exactly', async () => {
    const responses = [];
    for (let number = 0; number < 4; number += 1) responses.push(await statusOf(restored, limited));
    expect(responses).to.deep.equal([302, 302, 302, 410]);
    const { clickCount } = await restored.stats(contested.shortCode, busy.key);
    const visits = await concurrently(1_000, () => restored.visit(contested.shortCode));
    const { 302: left = 0, 410: gone = 0 } = statuses(visits);
    expect([clickCount + left, left + gone]).to.deep.equal([1_000, 1_000]);
  });

  it('contains everything that was acknowledged before the backup started', async () => {
    for (const code of busyLinks) {
      expect((await restored.visit(code, { method: 'HEAD' })).status, code).to.equal(302);
    }
    const { clickCount } = await restored.stats(watched.shortCode, busy.key);
    expect(clickCount).to.be.at.least(acknowledged.visits);
    const { calls, links, qrCodes } = await restored.usage(busy.key);
    expect(calls).to.be.at.least(acknowledged.calls);
    expect(links).to.be.at.least(acknowledged.links + 2);
    expect(qrCodes).to.be.at.least(acknowledged.qrCodes);
  });

  describe('rejects with one line', () => {
    const empty = folderFixture();

    const expectLine = async (
      args: readonly string[],
      dataDir: string,
      line: string | RegExp,
    ): Promise<void> => {
      const { exitCode, stdout, stderr } = await linklog(args, dataDir);
      const last = stderr.trimEnd().split('\n').at(-1) ?? '';
      expect([exitCode, stdout], stderr).to.deep.equal([1, '']);
      if (typeof line === 'string') expect(last).to.equal(`linklog: ${line}`);
      else expect(last).to.match(line);
    };

    it('when the target exists, its service runs, or the backup is damaged', async () => {
      const exists = `${file} exists already; choose another name, or replace it with --force`;
      await expectLine(['backup', file], target, exists);
      const { pid } = restored.product;
      const running = `the service runs on ${target} (process ${pid}): restore requires a new installation`;
      await expectLine(['restore', file], target, running);
      const notEmpty = /is not empty: restore requires a new/;
      await expectLine(['restore', file], old.product.dataDir, notEmpty);
      const damaged = path.join(dir, 'damaged');
      const bytes = await readFile(file);
      await writeFile(damaged, bytes.subarray(0, bytes.length / 2));
      const truncated = /damaged is damaged: it was truncated or altered/;
      await expectLine(['restore', damaged], empty.path, truncated);
      expect(await readdir(empty.path)).to.deep.equal([]);
    }).timeout(180_000);
  });
});
