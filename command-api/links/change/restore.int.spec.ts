import { expect } from 'chai';
import { fixture } from '../../../ops/test/support/fixture.js';
import { databaseFixture, twoLedgersFixture } from '../../../ops/test/support/fixtures.js';
import { foldedLinks, storedLinks } from '../../../ops/test/support/ledger-links.js';
import { meterOf, newKey } from '../../testing/keys.js';
import { shortenCommand } from '../../testing/links.js';
import { alternate, countTypes, onBoth } from '../../testing/nodes.js';
import { createShortenHandler } from '../create/handler.js';
import type { LinkCommand } from './command.js';
import { createLinkChanges } from './managed-links.js';

const url = 'https://example.com/';

describe('command API: restoring deleted links, on two nodes', () => {
  const database = databaseFixture('restored-links');
  const nodes = twoLedgersFixture(database);
  const [node] = nodes;
  const changes = fixture(() =>
    onBoth(nodes, ({ pool, outbox }) => createLinkChanges(pool, outbox)),
  );
  const shorten = fixture(() =>
    onBoth(nodes, (ledger) => createShortenHandler({ ...ledger, generateCode: () => 'unused' })),
  );

  afterEach('the rows are the fold of the log', async () => {
    expect(await storedLinks(node)).to.deep.equal(await foldedLinks(node));
  });

  const decide = async (
    change: (typeof changes)[number],
    subject: string,
    account: string,
    type: Exclude<LinkCommand['type'], 'ChangeLink'>,
  ) => {
    const data = { account, versions: null, safeUrls: [url] };
    const metadata = { actor: 'key-1', requestId: null };
    const { results } = await change([{ type, subject, data, metadata }]);
    return results.map(({ decision }) => decision);
  };

  const historyOf = async (subject: string): Promise<readonly string[]> =>
    (await node.events('links'))
      .filter((event) => event.subject === subject)
      .sort((a, b) => a.sequence - b.sequence)
      .map(({ type, sequence }) => `${sequence} ${type}`);

  it('restores a link once, and gives its alias to no other account, in races', async () => {
    const [owner, other] = [await newKey(node, 'PRO'), await newKey(node, 'PRO')];
    const alias = { code: 'raced', custom: true, url };
    await shorten[0].shorten(shortenCommand(owner, [alias]));
    await decide(changes[0], alias.code, owner.account, 'DeleteLink');
    const [restorations, creations] = await Promise.all([
      alternate(changes, 10, (change) => decide(change, alias.code, owner.account, 'RestoreLink')),
      alternate(shorten, 10, (creating) => creating.shorten(shortenCommand(other, [alias]))),
    ]);
    expect(countTypes(restorations.flat())).to.deep.equal({ accepted: 1, unchanged: 9 });
    const outcomes = creations.flatMap((creation) =>
      creation.type === 'decided' ? creation.outcomes : [],
    );
    expect(countTypes(outcomes)).to.deep.equal({ aliasTaken: 10 });
    expect(await historyOf(alias.code)).to.deep.equal([
      '1 linklog.LinkCreated.v4',
      '2 linklog.LinkDeleted.v1',
      '3 linklog.LinkRestored.v1',
    ]);
    expect((await meterOf(node, owner)).month_links).to.equal(1);
  });

  it('alternates deletions and restorations, however they race', async () => {
    const { account, ...key } = await newKey(node, 'PRO');
    const alias = { code: 'alternating', custom: true, url };
    await shorten[0].shorten(shortenCommand({ account, ...key }, [alias]));
    const decisions = await alternate(changes, 40, (change, index) =>
      // Each node has both.
      decide(change, alias.code, account, index % 4 < 2 ? 'DeleteLink' : 'RestoreLink'),
    );
    const { accepted = 0, refused } = countTypes(decisions.flat());
    expect(refused).to.equal(undefined);
    const [, ...history] = await historyOf(alias.code);
    expect(history).to.deep.equal(
      history.map((_, index) => {
        const type = index % 2 === 0 ? 'LinkDeleted' : 'LinkRestored';
        return `${index + 2} linklog.${type}.v1`;
      }),
    );
    expect(history).to.have.length(accepted);
    expect(accepted).to.be.at.least(1);
  });
});
