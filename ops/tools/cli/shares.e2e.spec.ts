import { expect } from 'chai';
import { sendRequest } from '../../test/support/http.js';
import { onService } from './testing/on-service.js';

describe('CLI: linklog shares, on a running service', () => {
  const { bench, text, json, linklog, createKey } = onService();

  it('creates, lists and ends shares of a link of any account', async () => {
    const { key } = await createKey('PRO', '--account', 'cli-shares');
    const { shortCode: code } = await bench.link(key);
    const url = (await text('shares', 'create', code, '--expires-in', '30d')).trim();
    expect(url).to.match(/^http:\/\/[^/]+\/s\/[\w-]{22}$/);
    expect((await sendRequest(url)).status).to.equal(200);
    const created = await json('shares', 'create', code, '--show-destination');
    expect(created).to.include({ expiresAt: null, hasPassword: false, showDestination: true });

    const { shares } = (await json('shares', 'list', code)) as {
      readonly shares: readonly { readonly id: string; readonly expiresAt: string | null }[];
    };
    expect(shares).to.have.length(2);
    const [first] = shares;
    const [, row] = (await text('shares', 'list', code)).split('\n');
    expect(row?.split(/ +/)).to.include.members([first?.id, first?.expiresAt, 'no']);

    expect(await text('shares', 'end', code, first?.id ?? '', '--yes')).to.equal(
      `Ended: ${first?.id}\n`,
    );
    expect((await sendRequest(url)).status).to.equal(404);
    const again = await linklog('shares', 'end', code, first?.id ?? '', '--yes');
    expect(again.exitCode).to.equal(1);
    expect(again.stderr).to.include('Share not found');
  });
});
