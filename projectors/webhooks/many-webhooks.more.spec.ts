import { expect } from 'chai';
import { fixture } from '../../ops/test/support/fixture.js';
import { folderFixture } from '../../ops/test/support/fixtures.js';
import { createManyWebhooks } from '../../ops/test/support/many-webhooks.js';
import { generousPlansFile } from '../../ops/test/support/plans.js';
import { startEmbeddedProduct } from '../../ops/test/support/product.js';

describe('product: more webhooks than one process could once lease', () => {
  const folder = folderFixture();
  const product = fixture(
    async () =>
      startEmbeddedProduct({
        env: { WEBHOOK_NETWORKS: '127.0.0.0/8', PLANS_FILE: await generousPlansFile(folder.path) },
      }),
    (product) => product.cleanup(),
  );

  it('are all delivered, while a fifth of the receivers is dead', async () => {
    const plan = { webhooks: 1_100, accounts: 110, dead: 220 };
    const many = await createManyWebhooks(product, plan);
    await many.createLinks();
    const { expected, lateMs } = await many.received(30_000);
    await many.stop();
    expect(lateMs).to.have.length(expected);
    expect(product.stderr()).not.to.include('a webhook cannot be delivered');
  }).timeout(90_000);
});
