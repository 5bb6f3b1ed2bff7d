import { expect } from 'chai';
import { fixture } from '../../ops/test/support/fixture.js';
import { folderFixture } from '../../ops/test/support/fixtures.js';
import { createManyWebhooks } from '../../ops/test/support/many-webhooks.js';
import { generousPlansFile } from '../../ops/test/support/plans.js';
import { startEmbeddedProduct } from '../../ops/test/support/product.js';

describe('product: more webhooks than one process could lease when it had a limit of 500', () => {
  const folder = folderFixture();
  const product = fixture(
    async () =>
      startEmbeddedProduct({
        env: { WEBHOOK_NETWORKS: '127.0.0.0/8', PLANS_FILE: await generousPlansFile(folder.path) },
      }),
    (product) => product.cleanup(),
  );

  it('are all delivered, while a fifth of the receivers is dead', async () => {
    const plan = { webhooks: 700, accounts: 70, dead: 140 };
    const many = await createManyWebhooks(() => product, plan);
    await many.createLinks();
    const { expected, lateMs } = await many.received(30_000);
    await many.stop();
    expect(lateMs).to.have.length(expected);
    expect(product.stderr()).not.to.include('a webhook cannot be delivered');
  }).timeout(90_000);
});
