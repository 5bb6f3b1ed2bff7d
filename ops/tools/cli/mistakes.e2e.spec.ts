import { expect } from 'chai';
import { encodeCursor, startCursor } from '../../feed/cursor.js';
import { feedEventNames } from '../../../schemas/feed.js';
import { importFormats, rowOutcomes } from '../../../schemas/http/imports.js';
import { shareSchema } from '../../../projectors/runtime/checkpoints.js';
import { projectionNames } from '../../../projectors/runtime/projection.js';
import { runLinklogCli } from '../../test/support/command-line.js';
import { linklogCommand } from '../../platform/process/own-command.js';
import { asTyped, startLinklogCli } from '../../test/support/process.js';
import { eventually } from '../../test/support/waiting.js';
import { onService } from './testing/on-service.js';

const unknownKey = '01990000-0000-7000-8000-000000000000';

describe('CLI: command line, on a running service', () => {
  const { service, linklog, expectFailure } = onService();

  describe('reports in one line', () => {
    const plans = 'it is one of FREE, HOBBY, INDIE, PRO';
    const names = `it is one of ${projectionNames.join(', ')}`;
    const create = ['keys', 'create', '--name', 'x', '--plan', 'PRO'];
    const wrong: readonly (readonly [readonly string[], number, string])[] = [
      [['kyes', 'list'], 2, "unknown command 'kyes' (did you mean keys?)"],
      [['projection', 'status'], 2, "unknown command 'projection' (did you mean projections?)"],
      [['frobnicate'], 2, 'unknown command \'frobnicate\'; see "linklog --help"'],
      [['keys', 'craete'], 2, "unknown command 'craete' (did you mean create?)"],
      [['keys', 'revok', unknownKey], 2, "unknown command 'revok' (did you mean revoke?)"],
      [['projections', 'rebiuld'], 2, "unknown command 'rebiuld' (did you mean rebuild?)"],
      [['help', 'kyes'], 2, "unknown command 'kyes' (did you mean keys?)"],
      [['help', 'keys', 'lsit'], 2, "unknown command 'lsit' (did you mean list?)"],
      [['--jsn', 'keys', 'list'], 2, "unknown option '--jsn' (did you mean --json?)"],
      [['keys', 'list', '--jason'], 2, "unknown option '--jason' (did you mean --json?)"],
      [['keys', 'create', '--nmae', 'x'], 2, "unknown option '--nmae' (did you mean --name?)"],
      [[...create, '--acount', 'x'], 2, "unknown option '--acount' (did you mean --account?)"],
      [
        ['keys', 'change', unknownKey, '--actve'],
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
      [['keys', 'change', unknownKey, '--plan', 'gold'], 2, `there is no plan "gold": ${plans}`],
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
      [['keys', 'show'], 2, "missing required argument 'key'"],
      [['keys', 'show', unknownKey], 1, 'API key not found'],
      [['keys', 'show', '..'], 1, 'no key has the id or the name ".."; see "linklog keys list"'],
      [
        ['keys', 'revoke', 'x/../y', '--yes'],
        1,
        'no key has the id or the name "x/../y"; see "linklog keys list"',
      ],
      [['keys', 'revoke', unknownKey, '--yes'], 1, 'API key not found'],
      [
        ['console', '--key', 'unknown'],
        1,
        'no key has the id or the name "unknown"; see "linklog keys list"',
      ],
      [['keys', 'change', unknownKey, '--plan', 'PRO'], 1, 'API key not found'],
      [['keys', 'revoke', ''], 2, 'the id is empty; see "linklog keys list"'],
      [
        ['keys', 'revoke', `ll_${'x'.repeat(38)}`],
        2,
        'this is the key, which is a secret, not its id or its name; see "linklog keys list"',
      ],
      [
        ['keys', 'change', unknownKey],
        2,
        'nothing to change: use --name, --plan, --scopes, --expires-in, --active or --inactive',
      ],
      [
        ['keys', 'change', unknownKey, '--json'],
        2,
        'nothing to change: use --name, --plan, --scopes, --expires-in, --active or --inactive',
      ],
      [
        ['keys', 'change', unknownKey, '--active', '--inactive'],
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
      [['links', 'show', 'nothing0'], 1, 'Short URL not found'],
      [['links', 'shwo', 'x'], 2, "unknown command 'shwo' (did you mean show?)"],
      [
        ['links', 'edit', 'x', '--titel', 'x'],
        2,
        "unknown option '--titel' (did you mean --title?)",
      ],
      [
        ['links', 'edit', 'nothing0'],
        2,
        'nothing to change: use --url, --expires-in, --expires-at, --starts-at, --max-clicks, --password, ' +
          '--title, --note, --tag, --rules or --forward-query',
      ],
      [
        ['links', 'edit', 'x', '--tag', 'a', '--no-tags'],
        2,
        '--tag and --no-tags exclude each other',
      ],
      [
        ['links', 'edit', 'x', '--expires-in', 'soon'],
        2,
        '"soon" is not a duration: use 30d, 12h, 90m, 2w, or a number of seconds',
      ],
      [['links', 'create'], 2, "missing required argument 'url'"],
      [['links', 'create', 'example'], 1, 'Please provide a valid URL'],
      [
        ['links', 'create', 'https://example.com/', '--alias', 'health'],
        1,
        'This alias is reserved and cannot be used',
      ],
      [
        ['links', 'create', 'https://example.com/', '--domain', 'go.example.com'],
        1,
        'The domain is not active for this account',
      ],
      [
        ['keys', 'list', '--actor', 'web-safety'],
        2,
        '--actor must not be system, web-safety, visitor or the id of a key',
      ],
      [
        ['keys', 'list', '--actor', ''],
        2,
        '--actor must have 1 to 64 characters, none of them control characters',
      ],
      [
        ['completion', 'bsh'],
        2,
        'there is no shell "bsh": it is one of bash, zsh, fish (did you mean bash?)',
      ],
      [['links', 'edit', 'x', '--max-clicks', '-1'], 2, '"-1" is not a number of clicks'],
      [['links', 'edit', 'x', '--if-version', 'v2', '--no-note'], 2, '"v2" is not a version'],
      [['links', 'edit', 'nothing0', '--url', 'x'], 1, 'Please provide a valid URL'],
      [['links', 'edit', 'nothing0', '--title', 'x'], 1, 'Short URL not found'],
      [['links', 'disable', ''], 2, 'the short code is empty'],
      [['links', 'enable', 'nothing0'], 1, 'Short URL not found'],
      [['links', 'delete'], 2, "missing required argument 'code'"],
      [['links', 'delete', '../x', '--yes'], 1, 'Short URL not found'],
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
        'nothing to switch: use one of --maintenance, --shortening, --aliases, --passwords, ' +
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
      [['events', 'tail', '--after', 'yesterday'], 1, 'after must be start, now or a cursor'],
      [
        ['events', 'tail', '--after', encodeCursor('0123456789abcdef', startCursor)],
        1,
        'The cursor belongs to another log',
      ],
      [
        ['events', 'tail', '--account', 'a b'],
        1,
        'account must have 1 to 64 characters: letters, digits, dots, hyphens and underscores',
      ],
      [
        ['events', 'tail', '--types', 'LinkCreated,LinkVisitd'],
        2,
        `there is no event type "LinkVisitd": it is one of ${feedEventNames.join(', ')} ` +
          '(did you mean LinkVisited?)',
      ],
      [['import'], 2, 'the file is missing; see "linklog import --help"'],
      [
        ['import', 'x', '--format', 'shlink-scv'],
        2,
        `there is no format "shlink-scv": it is one of auto, ${importFormats.join(', ')} ` +
          '(did you mean shlink-csv?)',
      ],
      [
        ['import', 'x', '--on-conflict', 'replace'],
        2,
        'there is no policy "replace": it is one of skip, suffix, fail',
      ],
      [['import', 'x', '--dryrun'], 2, "unknown option '--dryrun' (did you mean --dry-run?)"],
      [
        ['import', 'x', '--account', 'a b'],
        2,
        'account must have 1 to 64 characters: letters, digits, dots, hyphens and underscores',
      ],
      [['import', 'x', '--domain', 'a b'], 2, 'domain must be a host, such as go.example.com'],
      [
        ['import', 'x', '--visit-zone', 'Mars'],
        2,
        'visitZone must be an IANA time zone, such as Europe/Berlin',
      ],
      [
        ['import', '--from', 'shlnk'],
        2,
        'there is no service "shlnk": it is one of shlink, kutt (did you mean shlink?)',
      ],
      [['import', '--from', 'kutt'], 2, '--url is missing; see "linklog import --help"'],
      [['import', 'x', '--from', 'kutt'], 2, '--from excludes a file and --format'],
      [['import', 'x', '--key-file', 'y'], 2, '--url and --key-file require --from'],
      [['imports', 'show', unknownKey], 1, 'Import not found'],
      [['imports', 'shwo', 'x'], 2, "unknown command 'shwo' (did you mean show?)"],
      [
        ['imports', 'rows', 'x', '--outcome', 'lost'],
        2,
        `there is no outcome "lost": it is one of ${rowOutcomes.join(', ')}`,
      ],
      [['audit', 'as-of', '2999-01-01'], 2, '2999-01-01T00:00:00.000Z is in the future'],
      [
        ['audit', 'as-of', '2026-01-01', 'hello', '--key', 'website'],
        2,
        'a short code and --key exclude each other',
      ],
    ];
    for (const [args, exitCode, line] of wrong) {
      it(`linklog ${args.join(' ')}`, async () => {
        const output = await runLinklogCli(args, service().env);
        const stderr = `linklog: ${asTyped(line, linklogCommand())}\n`;
        expect(output).to.deep.equal({ exitCode, stdout: '', stderr });
      });
    }

    it('an invalid command, plan, id or password, as a process', async () => {
      const [unknown, plan] = [wrong[0], wrong.find(([args]) => args.includes('PORO'))];
      const id = wrong.find(([args]) => args.includes(unknownKey));
      const line = 'the password is empty: it is the first line of stdin';
      const stdin = [['links', 'edit', 'x', '--password'], 2, line] as const;
      for (const mistake of [unknown, plan, id, stdin]) {
        if (!mistake) throw new Error('the table lacks a case');
        await expectFailure(...mistake);
      }
    });

    it('a time before the log, and an unknown key', async () => {
      const before = await linklog('audit', 'as-of', '2020-02-03T04:05:06+01:00');
      expect([before.exitCode, before.stdout]).to.deep.equal([1, '']);
      expect(before.stderr).to.match(
        /^linklog: the log begins at \S+Z, after 2020-02-03T03:05:06\.000Z\n$/,
      );
      const now = new Date().toISOString();
      const unknown = await linklog('audit', 'as-of', now, '--key', 'unknown', '--json');
      expect([unknown.exitCode, unknown.stdout]).to.deep.equal([1, '']);
      expect(unknown.stderr).to.match(
        /linklog: no key had the id or the name "unknown" at \S+Z\n$/,
      );
    });

    it('a wrong admin token', async () => {
      const wrongToken = { ...service().env, ADMIN_TOKEN: 'not-the-right-one' };
      const { exitCode, stdout, stderr } = await startLinklogCli(['keys', 'list'], wrongToken)
        .ended;
      expect([exitCode, stdout]).to.deep.equal([1, '']);
      expect(stderr).to.equal(
        `linklog: the service at ${service().product.admin} rejects this admin token: set ` +
          'ADMIN_TOKEN or DATA_DIR as for the service\n',
      );
    });

    it('a second rebuild of one projection', async () => {
      const client = await service().pool.connect();
      try {
        await client.query('BEGIN');
        await client.query(shareSchema('stats'));
        const first = linklog('projections', 'rebuild', 'stats', '--yes');
        await eventually('a session waits for the advisory lock', async () => {
          const { rows } = await service().pool.query(
            "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
          );
          return rows.length > 0;
        });
        await expectFailure(
          ['projections', 'rebuild', 'stats', '--yes'],
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
