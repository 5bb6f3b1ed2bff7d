import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { projections } from '../../../projectors/projections.js';
import { shareSchema } from '../../../projectors/runtime/checkpoints.js';
import { liveSchema } from '../../../projectors/runtime/projection.js';
import { blocked, created, recordOf } from '../../../schemas/testing/events.js';
import { dump } from '../../../projectors/testing/tables.js';
import { readEvent } from '../../../schemas/events/codec.js';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { openEventLog } from '../../app/event-log.js';
import { readConfig } from '../../platform/config/config.js';
import { createLogger } from '../../platform/logging.js';
import { listenToPostgres } from '../../platform/postgres/listener.js';
import { createPool, type Pool } from '../../platform/postgres/pool.js';
import { ask } from '../../test/support/http.js';
import { serversFor, startProduct, type Product } from '../../test/support/product.js';
import { actorName } from './service.js';
import { eventually } from '../../test/support/waiting.js';
import { type Said, startLinklogCli } from '../../test/support/process.js';

const logger = createLogger('silent');
const nobody = '01990000-0000-7000-8000-000000000000';

interface Key {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly plan: string;
  readonly account: string;
  readonly active: boolean;
}

describe('the command line, on a running service', () => {
  let product: Product;
  let databaseUrl: string;
  let pool: Pool;
  /** What a command needs to know of the service. */
  let env: Record<string, string>;

  before('start the product', async () => {
    product = await startProduct();
    const { dataDir } = product;
    env = { ...(await serversFor(dataDir)), DATA_DIR: dataDir };
    const url = await runningPostgresUrl(product.dataDir);
    if (url === null) throw new Error('The embedded PostgreSQL does not run');
    databaseUrl = url;
    pool = createPool({ url, name: 'test', max: 4, logger });
  });

  after('stop the product', async () => {
    try {
      await pool.end();
      await product.stop();
    } finally {
      await product.cleanup();
    }
  });

  const linklog = (...args: readonly string[]): Promise<Said> => startLinklogCli(args, env).ended;

  /** What a person sees when all is well. */
  const text = async (...args: readonly string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await linklog(...args);
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });
    return stdout;
  };

  const json = async (...args: readonly string[]): Promise<unknown> =>
    JSON.parse(await text(...args, '--json'));

  const createKey = async (plan: string, ...more: readonly string[]): Promise<Key> =>
    (await json('keys', 'create', '--name', 'a key', '--plan', plan, ...more)) as Key;

  const expectFailure = async (
    args: readonly string[],
    exitCode: number,
    line: string,
  ): Promise<void> => {
    const said = await linklog(...args);
    expect(said, args.join(' ')).to.deep.equal({
      exitCode,
      stdout: '',
      stderr: `linklog: ${line}\n`,
    });
  };

  const usage = (key: string) =>
    ask(`${product.api}/v2/usage`, { headers: { Authorization: `Bearer ${key}` } });

  const shorten = async (key: string): Promise<string> => {
    const answer = await ask(`${product.api}/v2/shorten`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}` },
      body: { url: 'https://example.com/' },
    });
    expect(answer.status, answer.text).to.equal(201);
    return (answer.json() as { shortCode: string }).shortCode;
  };

  const visit = async (code: string): Promise<void> => {
    expect((await ask(`${product.edge}/${code}`)).status).to.equal(302);
  };

  const lagIsGone = async (): Promise<boolean> => {
    for (const edge of product.edges) {
      const report = (await ask(`${edge}/health/ready`)).json() as {
        projections: { lag: number }[];
        spool: { events: number };
      };
      if (report.projections.some(({ lag }) => lag > 0) || report.spool.events > 0) return false;
    }
    return true;
  };

  describe('keys', () => {
    it('are made, work at once, and are listed and shown without the key itself', async () => {
      const key = await createKey('hobby', '--account', 'shop');
      expect(key).to.include({ name: 'a key', plan: 'HOBBY', account: 'shop', active: true });
      expect(key.key).to.match(/^ll_[0-9A-Za-z]{38}$/);
      const answer = await usage(key.key);
      expect([answer.status, answer.headers['x-ratelimit-limit']]).to.deep.equal([200, '300']);

      const { keys } = (await json('keys', 'list')) as { keys: Key[] };
      expect(keys.map(({ name }) => name)).to.include('first-key');
      const listed = keys.find(({ id }) => id === key.id);
      const shown = await json('keys', 'show', key.id);
      expect(listed).to.deep.equal(shown);
      expect(shown).to.include({ id: key.id, plan: 'HOBBY', account: 'shop' });
      expect(shown).to.not.have.property('key');
      expect(shown).to.have.nested.property('usage.minute.limit', 300);
    });

    it('are shown to people in lines and columns', async () => {
      const made = await text('keys', 'create', '--name', 'für Menschen', '--plan', 'INDIE');
      const id = /^id +(\S+)$/m.exec(made)?.[1] ?? '';
      expect(made).to.match(/^name +für Menschen$/m);
      expect(made).to.match(/^key +ll_[0-9A-Za-z]{38}$/m);
      expect(made).to.match(/The key is shown this once/);

      const list = await text('keys', 'list');
      expect(list).to.match(/^ID +NAME +PLAN +ACCOUNT +ACTIVE +CALLS +LINKS +QR CODES +CREATED\n/);
      expect(list).to.match(
        new RegExp(`^${id}  für Menschen +INDIE +default +yes +0 +0 +0 +`, 'm'),
      );
      expect(await text('keys', 'show', id)).to.match(/^this minute +0 of 1,000 calls$/m);
      expect(await text('keys', 'change', id, '--name', 'new')).to.match(/^name +new$/m);
      expect(await text('keys', 'revoke', id)).to.equal(`Revoked, for good: new (${id})\n`);
    });

    it('get the limit of another plan, and go off and on', async () => {
      const { id, key } = await createKey('FREE');
      expect((await usage(key)).headers['x-ratelimit-limit']).to.equal('60');
      expect(await json('keys', 'change', id, '--plan', 'PRO')).to.include({ plan: 'PRO' });
      expect((await usage(key)).headers['x-ratelimit-limit']).to.equal('5000');
      expect(await json('keys', 'change', id, '--inactive')).to.include({ active: false });
      expect((await usage(key)).status).to.equal(401);
      const changed = await json('keys', 'change', id, '--active', '--name', 'back');
      expect(changed).to.include({ active: true, name: 'back', plan: 'PRO' });
      expect((await usage(key)).status).to.equal(200);
    });

    it('are refused once they are revoked, for good', async () => {
      const { id, key } = await createKey('PRO');
      expect((await usage(key)).status).to.equal(200);
      expect(await json('keys', 'revoke', id)).to.include({ id, active: false });
      expect((await usage(key)).status).to.equal(401);
      expect(await json('keys', 'revoke', id)).to.include({ id, active: false });
      await expectFailure(['keys', 'change', id, '--active'], 1, 'This API key has been revoked');
    });

    it('are changed by somebody: the name is in the events', async () => {
      const { id } = await createKey('PRO');
      await json('keys', 'change', id, '--plan', 'FREE');
      await json('keys', 'revoke', id);
      const { rows } = await pool.query<{ value: string }>(
        'SELECT value FROM log.events WHERE key = $1 ORDER BY record_offset',
        [id],
      );
      const events = rows.map(({ value }) => readEvent(value));
      expect(events.map(({ type, actor }) => [type, actor])).to.deep.equal([
        ['linklog.ApiKeyCreated.v1', actorName()],
        ['linklog.ApiKeyChanged.v1', actorName()],
        ['linklog.ApiKeyRevoked.v1', actorName()],
      ]);
    });
  });

  it('shows and switches the platform', async () => {
    await json('platform', 'set', '--passwords', 'on');
    const on = { shortening: true, aliases: true, passwords: true, expiration: true, qr: true };
    const all = { maintenance: false, features: on };
    expect(await json('platform', 'show')).to.deep.equal(all);
    const off = { ...on, shortening: false, qr: false };
    expect(
      await json('platform', 'set', '--maintenance', 'on', '--shortening', 'OFF', '--qr', 'off'),
    ).to.deep.equal({ maintenance: true, features: off });
    expect(await text('platform', 'show')).to.equal(
      'maintenance  on\nshortening   off\naliases      on\npasswords    on\n' +
        'expiration   on\nqr           off\n',
    );
    const back = ['--maintenance', 'off', '--shortening', 'on', '--qr', 'on'];
    expect(await text('platform', 'set', ...back)).to.match(/^maintenance {2}off\n/);
    expect(await json('platform', 'show')).to.deep.equal(all);
  });

  it('blocks and unblocks links, and tells their history', async () => {
    const { key } = await createKey('PRO');
    const code = await shorten(key);
    await visit(code);
    const status = async () => (await ask(`${product.edge}/${code}`)).status;
    expect(await text('links', 'block', code, '--reason', 'phishing, reported')).to.equal(
      `Blocked: ${code}\n`,
    );
    await eventually('the link is blocked', async () => (await status()) === 410);
    expect(await json('links', 'unblock', code, '--reason', 'a mistake')).to.deep.equal({
      shortCode: code,
      blocked: false,
    });
    await eventually('the link redirects again', async () => (await status()) === 302);

    const { events } = (await json('links', 'history', code)) as {
      events: { type: string; actor: string; data: object }[];
    };
    expect(events.slice(1).map(({ type, actor, data }) => [type, actor, data])).to.deep.equal([
      ['linklog.LinkBlocked.v1', actorName(), { reason: 'phishing, reported' }],
      ['linklog.LinkUnblocked.v1', actorName(), { reason: 'a mistake' }],
    ]);
    const lines = (await text('links', 'history', code)).trimEnd().split('\n');
    expect(lines[0]).to.match(/^TIME +WHAT +WHO +WHY$/);
    expect(lines.slice(1).map((line) => line.split(/ {2,}/).slice(1))).to.deep.equal([
      ['LinkCreated', events[0]?.actor, 'https://example.com/'],
      ['LinkBlocked', actorName(), 'phishing, reported'],
      ['LinkUnblocked', actorName(), 'a mistake'],
    ]);
  });

  it('lets an account use a reserved alias, and no longer', async () => {
    expect(await json('aliases', 'allow', 'Docs', '--account', 'acme')).to.deep.equal({
      alias: 'docs',
      account: 'acme',
    });
    expect(await text('aliases', 'allow', 'docs', '--account', 'shop')).to.equal(
      'The account shop may use docs\n',
    );
    expect(await text('aliases', 'disallow', 'docs')).to.equal('Nobody may use docs\n');
    await expectFailure(['aliases', 'disallow', 'docs'], 1, 'Override not found');
  });

  it('may have --json before the command too', async () => {
    expect(await json('keys', 'list')).to.deep.equal(
      JSON.parse(await text('--json', 'keys', 'list')),
    );
    expect(await json('keys', 'list')).to.deep.equal(
      JSON.parse(await text('keys', '--json', 'list')),
    );
  });

  describe('projections', () => {
    it('tell how far they are', async () => {
      await eventually('the projections are caught up', lagIsGone);
      const none = { lag: 0, deadLetters: 0, parked: 0 };
      expect(await json('projections', 'status')).to.deep.equal({
        projections: ['redirects', 'quotas', 'stats', 'history'].map((name) => ({ name, ...none })),
      });
      expect((await text('projections', 'status')).split('\n')).to.deep.equal([
        'PROJECTION  LAG  DEAD LETTERS  PARKED',
        'redirects     0             0       0',
        'quotas        0             0       0',
        'stats         0             0       0',
        'history       0             0       0',
        '',
      ]);
    });

    it('are built again under the running service: every row is as before, and visits go on', async () => {
      const { key } = await createKey('PRO');
      const codes: string[] = [];
      for (let index = 0; index < 5; index += 1) codes.push(await shorten(key));
      for (const code of codes) for (let index = 0; index < 4; index += 1) await visit(code);
      await eventually('the projections are caught up', lagIsGone);

      for (const projection of projections) {
        const { name } = projection;
        const before = await dump(pool, liveSchema(name));
        const said = await linklog('projections', 'rebuild', name);
        expect(said.exitCode, said.stderr).to.equal(0);
        expect(said.stdout).to.match(
          new RegExp(`^Rebuilt ${name}: \\d+ events in \\d+\\.\\d\\d s\\n$`),
        );
        expect(said.stderr).to.match(new RegExp(`^${name}: 0 of \\d+ events \\(0 %\\)\n`));
        expect(await dump(pool, liveSchema(name))).to.deep.equal(before);
      }

      const [code = ''] = codes;
      await visit(code);
      await visit(await shorten(key));
      const clicks = async (): Promise<number> => {
        const answer = await ask(`${product.api}/v2/stats/${code}`, {
          headers: { Authorization: `Bearer ${key}` },
        });
        return (answer.json() as { clickCount: number }).clickCount;
      };
      await eventually('the clicks are counted', async () => (await clicks()) === 5);
      await eventually('the projections are caught up', lagIsGone);
    });

    it('tell a program how much was read and how long it took', async () => {
      await eventually('the projections are caught up', lagIsGone);
      const { exitCode, stdout } = await linklog('projections', 'rebuild', 'stats', '--json');
      const result = JSON.parse(stdout) as Record<string, number>;
      expect(exitCode).to.equal(0);
      expect(result).to.include({ projection: 'stats', repeats: 0, deadLetters: 0, parked: 0 });
      expect(result['events']).to.be.above(0).and.to.equal(result['applied']);
      expect(result['seconds']).to.be.within(0, 60);
    });

    it('are undone, and that is undone, while the service goes on; analysts can do it too', async () => {
      const { key } = await createKey('PRO');
      const code = await shorten(key);
      await expectFailure(
        ['audit', 'rebuild', 'history', '--rollback', '--nothing'],
        2,
        'unknown option \'--nothing\'; see "linklog --help"',
      );
      await eventually('the projections are caught up', lagIsGone);
      await linklog('audit', 'rebuild', 'stats');
      const clicks = async (): Promise<number> => {
        const headers = { Authorization: `Bearer ${key}` };
        const answer = await ask(`${product.api}/v2/stats/${code}`, { headers });
        return (answer.json() as { clickCount: number }).clickCount;
      };
      for (const [index, group] of ['projections', 'audit'].entries()) {
        await visit(code);
        await eventually('the clicks are counted', async () => (await clicks()) === index + 1);
        const said = await linklog(group, 'rebuild', 'stats', '--rollback');
        expect(said.exitCode, said.stderr).to.equal(0);
        expect(said.stdout).to.match(
          /^Put the previous stats back, after \d+ events? that it had not seen, in \d+\.\d\d s\n$/,
        );
        expect(await clicks()).to.equal(index + 1);
      }
    }).timeout(60_000);

    it('are found by DATABASE_URL alone', async () => {
      const args = ['projections', 'rebuild', 'quotas', '--json'];
      const elsewhere = { ...env, DATA_DIR: '/nowhere', DATABASE_URL: databaseUrl };
      const { exitCode, stdout } = await startLinklogCli(args, elsewhere).ended;
      expect([exitCode, JSON.parse(stdout)]).to.have.nested.property('[1].projection', 'quotas');
      expect(exitCode).to.equal(0);
    });

    describe('at Ctrl-C', () => {
      /** As a live batch would, but for as long as we like. */
      const whileSwapMustWait = async (work: () => Promise<void>): Promise<void> => {
        const client = await pool.connect();
        try {
          await client.query('BEGIN');
          await client.query(shareSchema('stats'));
          await work();
        } finally {
          await client.query('ROLLBACK');
          client.release();
        }
      };

      const isWaiting = async (): Promise<boolean> => {
        const { rows } = await pool.query(
          "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
        );
        return rows.length > 0;
      };

      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        it(`(${signal}) leave the live one as it is, and say so`, async () => {
          await eventually('the projections are caught up', lagIsGone);
          const before = await dump(pool, 'projection_stats');
          const args = ['projections', 'rebuild', 'stats', '--json'];
          const { child, ended } = startLinklogCli(args, env);
          await whileSwapMustWait(async () => {
            await eventually('the command waits', isWaiting);
            child.kill(signal);
            await sleep(50);
            child.kill(signal === 'SIGINT' ? 'SIGTERM' : 'SIGINT');
            await sleep(50);
          });
          const { exitCode, stdout, stderr } = await ended;
          expect([exitCode, stdout]).to.deep.equal([130, '']);
          expect(stderr.trimEnd().split('\n').at(-1)).to.equal(
            'linklog: the rebuild was stopped; the live projection stats is untouched',
          );
          expect(await dump(pool, 'projection_stats')).to.deep.equal(before);
          const { rows } = await pool.query(
            "SELECT FROM pg_namespace WHERE nspname = 'projection_stats_next'",
          );
          expect(rows).to.be.empty;
        });
      }

      it('twice end at once, and are whole', async () => {
        await eventually('the projections are caught up', lagIsGone);
        const before = await dump(pool, 'projection_stats');
        const args = ['projections', 'rebuild', 'stats'];
        const { child, ended } = startLinklogCli(args, env);
        await whileSwapMustWait(async () => {
          await eventually('the command waits', isWaiting);
          child.kill('SIGINT');
          await sleep(600);
          child.kill('SIGINT');
          const { exitCode, stderr } = await ended;
          expect(exitCode).to.equal(130);
          expect(stderr).to.match(/the rebuild was ended at once; the projection stats is whole/);
        });
        expect(await dump(pool, 'projection_stats')).to.deep.equal(before);
        expect((await linklog('projections', 'rebuild', 'stats')).exitCode).to.equal(0);
      });
    });

    it('show and redrive what was set aside', async () => {
      expect(await text('projections', 'redrive', 'redirects')).to.equal(
        'There are no dead letters of redirects\n',
      );
      const listener = listenToPostgres(databaseUrl, ['linklog_log', 'linklog_sent'], logger);
      const opened = await openEventLog(readConfig(env), {
        ...{ pool, url: databaseUrl, listener, logger },
        readOnly: true,
      });
      // No table can hold such a limit; the next one is parked behind it.
      const events = [created('poison', { maxClicks: 3_000_000_000 }), blocked('poison', 2)];
      await opened.log.append('linklog.links.v1', events.map(recordOf));
      await opened.close();
      await listener.close();
      await eventually('the projections are caught up', lagIsGone);

      const row = /^redirects +0 +1 +1$/m;
      await eventually('the dead letter is shown', async () =>
        row.test(await text('projections', 'status')),
      );
      expect(await text('projections', 'redrive', 'redirects')).to.equal(
        'Redrove redirects: 0 applied, 0 repeats dropped, 2 still set aside\n',
      );
      expect(await json('projections', 'redrive', 'redirects')).to.deep.equal({
        projection: 'redirects',
        applied: 0,
        repeats: 0,
        remaining: 2,
      });
      const rebuilt = await linklog('projections', 'rebuild', 'redirects');
      expect(rebuilt.stdout).to.match(/ s; set aside: 1 dead letter, 1 parked\n$/);
    });
  });

  describe('says in one line what is wrong with', () => {
    const plans = 'it is one of FREE, HOBBY, INDIE, PRO';
    const names = 'it is one of redirects, quotas, stats, history';
    const create = ['keys', 'create', '--name', 'x', '--plan', 'PRO'];
    const wrong: readonly (readonly [readonly string[], number, string])[] = [
      [['kyes', 'list'], 2, "unknown command 'kyes' (did you mean keys?)"],
      [['projection', 'status'], 2, "unknown command 'projection' (did you mean projections?)"],
      [['frobnicate'], 2, 'unknown command \'frobnicate\'; see "linklog --help"'],
      [['keys', 'craete'], 2, "unknown command 'craete' (did you mean create?)"],
      [['keys', 'revok', nobody], 2, "unknown command 'revok' (did you mean revoke?)"],
      [['projections', 'rebiuld'], 2, "unknown command 'rebiuld' (did you mean rebuild?)"],
      [['help', 'kyes'], 2, "unknown command 'kyes' (did you mean keys?)"],
      [['help', 'keys', 'lsit'], 2, "unknown command 'lsit' (did you mean list?)"],
      [['--jsn', 'keys', 'list'], 2, "unknown option '--jsn' (did you mean --json?)"],
      [['keys', 'list', '--jason'], 2, "unknown option '--jason' (did you mean --json?)"],
      [['keys', 'create', '--nmae', 'x'], 2, "unknown option '--nmae' (did you mean --name?)"],
      [[...create, '--acount', 'x'], 2, "unknown option '--acount' (did you mean --account?)"],
      [
        ['keys', 'change', nobody, '--actve'],
        2,
        "unknown option '--actve' (did you mean --active?)",
      ],
      [['projections', 'status', '-x'], 2, 'unknown option \'-x\'; see "linklog --help"'],
      [
        ['keys', 'create', '--plan', 'PRO'],
        2,
        '--name is missing; see "linklog keys create --help"',
      ],
      [['keys', 'create', '--name', 'x'], 2, '--plan is missing; see "linklog keys create --help"'],
      [['keys', 'create', '--name'], 2, "option '--name <name>' argument missing"],
      [
        ['keys', 'create', '--name', 'x', '--plan', 'PORO'],
        2,
        `there is no plan "PORO": ${plans} (did you mean PRO?)`,
      ],
      [['keys', 'change', nobody, '--plan', 'gold'], 2, `there is no plan "gold": ${plans}`],
      [
        ['keys', 'create', '--name', '', '--plan', 'PRO'],
        1,
        'name must have 1 to 100 characters, none of them control characters',
      ],
      [
        [...create, '--account', 'a b'],
        1,
        'account must have 1 to 64 characters: letters, digits, dots, hyphens and underscores',
      ],
      [['keys', 'show'], 2, "missing required argument 'id'"],
      [['keys', 'show', nobody], 1, 'API key not found'],
      [['keys', 'show', '..'], 1, 'API key not found'],
      [['keys', 'revoke', 'x/../y'], 1, 'API key not found'],
      [['keys', 'change', nobody, '--plan', 'PRO'], 1, 'API key not found'],
      [['keys', 'revoke', ''], 2, 'the id is empty; see "linklog keys list"'],
      [
        ['keys', 'revoke', `ll_${'x'.repeat(38)}`],
        2,
        'this is a key itself, not its id; keep it secret, and see "linklog keys list" for the id',
      ],
      [
        ['keys', 'change', nobody],
        2,
        'nothing to change: give --name, --plan, --active or --inactive',
      ],
      [
        ['keys', 'change', nobody, '--active', '--inactive'],
        2,
        "option '--active' cannot be used with option '--inactive'",
      ],
      [
        ['keys', 'list', 'all'],
        2,
        "too many arguments for 'list'. Expected 0 arguments but got 1.",
      ],
      [
        ['projections', 'rebuild', 'stat'],
        2,
        `there is no projection "stat": ${names} (did you mean stats?)`,
      ],
      [['projections', 'redrive', 'links'], 2, `there is no projection "links": ${names}`],
      [['projections', 'rebuild'], 2, "missing required argument 'name'"],
      [['link', 'block', 'x'], 2, "unknown command 'link' (did you mean links?)"],
      [['links', 'blok', 'x'], 2, "unknown command 'blok' (did you mean block?)"],
      [['links', 'block', 'spring'], 2, '--reason is missing; see "linklog links block --help"'],
      [
        ['links', 'unblock', 'spring'],
        2,
        '--reason is missing; see "linklog links unblock --help"',
      ],
      [['links', 'block', '', '--reason', 'x'], 2, 'the short code is empty'],
      [['links', 'block', 'nothing0', '--reason', 'x'], 1, 'Short URL not found'],
      [['links', 'block', '../x', '--reason', 'x'], 1, 'Short URL not found'],
      [
        ['links', 'block', 'nothing0', '--reason', ''],
        1,
        'reason must have 1 to 500 characters, none of them control characters',
      ],
      [['links', 'history', 'nothing0'], 1, 'Short URL not found'],
      [['links', 'history'], 2, "missing required argument 'code'"],
      [['aliases', 'allow', 'docs'], 2, '--account is missing; see "linklog aliases allow --help"'],
      [['aliases', 'allow', '', '--account', 'x'], 2, 'the alias is empty'],
      [
        ['aliases', 'allow', 'a', '--account', 'x'],
        1,
        'Alias must have 3 to 50 letters, numbers, hyphens and underscores',
      ],
      [
        ['platform', 'set'],
        2,
        'nothing to switch: give one of --maintenance, --shortening, --aliases, --passwords, ' +
          '--expiration, --qr',
      ],
      [
        ['platform', 'set', '--qr', 'maybe'],
        2,
        'there is no switch position "maybe": it is one of on, off',
      ],
      [
        ['platform', 'set', '--maintenence', 'on'],
        2,
        "unknown option '--maintenence' (did you mean --maintenance?)",
      ],
      [['audit', 'as-of', '2999-01-01'], 2, '2999-01-01T00:00:00.000Z is in the future'],
      [
        ['audit', 'as-of', '2026-01-01', 'hello', '--key', 'website'],
        2,
        'give a short code or --key, not both',
      ],
    ];
    for (const [args, exitCode, line] of wrong) {
      it(`linklog ${args.join(' ')}`, () => expectFailure(args, exitCode, line));
    }

    it('a moment of which the log knows nothing, and a key that there was not', async () => {
      const before = await linklog('audit', 'as-of', '2020-02-03T04:05:06+01:00');
      expect([before.exitCode, before.stdout]).to.deep.equal([1, '']);
      expect(before.stderr).to.match(
        /^linklog: nothing had happened at 2020-02-03T03:05:06\.000Z: the log begins at \S+Z\n$/,
      );
      const now = new Date().toISOString();
      const nobody = await linklog('audit', 'as-of', now, '--key', 'nobody', '--json');
      expect([nobody.exitCode, nobody.stdout]).to.deep.equal([1, '']);
      expect(nobody.stderr).to.match(/linklog: no key had the id or the name "nobody" at \S+Z\n$/);
    });

    it('its admin token', async () => {
      const wrongToken = { ...env, ADMIN_TOKEN: 'not-the-right-one' };
      const { exitCode, stdout, stderr } = await startLinklogCli(['keys', 'list'], wrongToken)
        .ended;
      expect([exitCode, stdout]).to.deep.equal([1, '']);
      expect(stderr).to.equal(
        `linklog: the service at ${product.admin} does not accept this admin token: set ` +
          'ADMIN_TOKEN to the one that it was started with, or DATA_DIR to its directory\n',
      );
    });

    it('a second rebuild of one projection', async () => {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        await client.query(shareSchema('stats'));
        const first = linklog('projections', 'rebuild', 'stats');
        await eventually('a session waits for the advisory lock', async () => {
          const { rows } = await pool.query(
            "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
          );
          return rows.length > 0;
        });
        await expectFailure(
          ['projections', 'rebuild', 'stats'],
          1,
          'The projection stats is being rebuilt already; wait until that has ended',
        );
        await client.query('COMMIT');
        expect((await first).exitCode).to.equal(0);
      } finally {
        client.release();
      }
    });
  });
});

describe('the command line, without a service', () => {
  let dataDir: string;

  before(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'linklog-cli-'));
  });

  after(() => rm(dataDir, { recursive: true, force: true }));

  const linklog = (args: readonly string[], env: Record<string, string> = {}): Promise<Said> =>
    startLinklogCli(args, { DATA_DIR: dataDir, ADMIN_PORT: '1', ...env }).ended;

  const expectFailure = async (
    said: Promise<Said>,
    exitCode: number,
    line: string,
  ): Promise<void> => {
    expect(await said).to.deep.equal({ exitCode, stdout: '', stderr: `linklog: ${line}\n` });
  };

  const absent = 'no service answers at http://127.0.0.1:1; start it with "npm start"';
  for (const args of [
    ['keys', 'create', '--name', 'x', '--plan', 'PRO'],
    ['keys', 'list', '--json'],
    ['keys', 'show', nobody],
    ['keys', 'change', nobody, '--inactive'],
    ['keys', 'revoke', nobody],
    ['links', 'block', 'spring', '--reason', 'x'],
    ['links', 'history', 'spring'],
    ['aliases', 'disallow', 'docs'],
    ['platform', 'show'],
    ['platform', 'set', '--qr', 'off'],
    ['projections', 'status'],
  ]) {
    it(`says so for ${args.join(' ')}`, () => expectFailure(linklog(args), 1, absent));
  }

  for (const command of ['rebuild', 'redrive']) {
    it(`says so for projections ${command}, with and without an address`, async () => {
      const args = ['projections', command, 'stats'];
      await expectFailure(
        linklog(args),
        1,
        `no embedded PostgreSQL runs in ${dataDir}; start the service with "npm start", ` +
          'or set DATABASE_URL to the one that it uses',
      );
      await expectFailure(
        linklog(args, { DATABASE_URL: 'postgres://linklog:a-secret@127.0.0.1:1/linklog' }),
        1,
        'PostgreSQL at 127.0.0.1:1 cannot be used: connect ECONNREFUSED 127.0.0.1:1',
      );
    });
  }

  it('ends with 78 and the name of the variable when the configuration is wrong', async () => {
    const line = 'API_PORT must be a port number from 0 to 65535';
    await expectFailure(linklog(['keys', 'list'], { API_PORT: 'x' }), 78, line);
    await expectFailure(linklog(['projections', 'rebuild', 'stats'], { API_PORT: 'x' }), 78, line);
    // A wrong command line is the nearer mistake.
    const { exitCode } = await linklog(['keys', 'create'], { API_PORT: 'x' });
    expect(exitCode).to.equal(2);
  });

  it('helps with every command, whatever the environment', async function () {
    // Some forty processes.
    this.timeout(90_000);
    for (const args of [
      [],
      ['keys'],
      ['keys', 'create'],
      ['keys', 'list'],
      ['keys', 'show'],
      ['keys', 'change'],
      ['keys', 'revoke'],
      ['links'],
      ['links', 'block'],
      ['links', 'unblock'],
      ['links', 'history'],
      ['aliases'],
      ['aliases', 'allow'],
      ['aliases', 'disallow'],
      ['platform'],
      ['platform', 'show'],
      ['platform', 'set'],
      ['projections'],
      ['projections', 'status'],
      ['projections', 'rebuild'],
      ['projections', 'redrive'],
      ['audit'],
      ['audit', 'replay'],
      ['audit', 'history'],
    ]) {
      const [said, asked] = await Promise.all([
        linklog([...args, '--help'], { API_PORT: 'x' }),
        linklog(['help', ...args]),
      ]);
      expect({ exitCode: said.exitCode, stderr: said.stderr }).to.deep.equal({
        exitCode: 0,
        stderr: '',
      });
      expect(said.stdout).to.match(/^Usage: linklog /);
      if (args.length !== 1) expect(said.stdout).to.match(/\nExamples?:\n {2}\$ linklog /);
      expect(asked).to.deep.equal(said);
    }
  });

  it('shows the help to whoever leaves the command out, on stderr', async () => {
    for (const args of [[], ['keys'], ['links'], ['aliases'], ['platform'], ['projections']]) {
      const { exitCode, stdout, stderr } = await linklog(args);
      expect([exitCode, stdout]).to.deep.equal([2, '']);
      expect(stderr).to.match(/^Usage: linklog /);
    }
  });

  it('knows its version', async () => {
    const { exitCode, stdout } = await linklog(['--version']);
    expect(exitCode).to.equal(0);
    expect(stdout).to.match(/^\d+\.\d+\.\d+\n$/);
  });
});
