import { expect } from 'chai';
import { onService, unknownId } from './testing/on-service.js';

describe('CLI: refusals of a running service', () => {
  const { bench, service, startLinklog, linklog, expectFailure } = onService();

  const refusals: readonly (readonly [readonly string[], string])[] = [
    [
      ['keys', 'create', '--name', '', '--plan', 'PRO'],
      'name must have 1 to 100 characters, none of them control characters',
    ],
    [['imports', 'show', unknownId], 'Import not found'],
    [['keys', 'show', '..'], 'no key has the id or the name ".."; see "linklog keys list"'],
    [['links', 'block', '../x', '--reason', 'x'], 'Short URL not found'],
    [['events', 'tail', '--after', 'yesterday'], 'after must be start, now or a cursor'],
    [
      ['export', '--account', 'a b'],
      'account must have 1 to 64 characters: letters, digits, dots, hyphens and underscores',
    ],
  ];
  for (const [args, line] of refusals) {
    it(`are reported in one line: linklog ${args.join(' ')}`, () => expectFailure(args, 1, line));
  }

  it('are reported in one line by a process', async () => {
    const env = { ...service.env, ADMIN_TOKEN: 'not-the-right-one' };
    expect(await startLinklog(['keys', 'list'], '', env).ended).to.deep.equal({
      ...{ exitCode: 1, stdout: '' },
      stderr:
        `linklog: the service at ${bench.product.admin} rejects this admin token: set ` +
        'ADMIN_TOKEN or DATA_DIR as for the service\n',
    });
  });

  it('include a time before the log, and a key that did not exist', async () => {
    const before = await linklog('audit', 'as-of', '2020-02-03T04:05:06+01:00');
    expect([before.exitCode, before.stdout]).to.deep.equal([1, '']);
    expect(before.stderr).to.match(
      /^linklog: the log begins at \S+Z, after 2020-02-03T03:05:06\.000Z\n$/,
    );
    const args = ['audit', 'as-of', new Date().toISOString(), '--key', 'unknown', '--json'];
    const unknown = await startLinklog(args).ended;
    expect([unknown.exitCode, unknown.stdout]).to.deep.equal([1, '']);
    expect(unknown.stderr).to.match(/linklog: no key had the id or the name "unknown" at \S+Z\n$/);
  });
});
