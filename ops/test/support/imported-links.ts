import { hashKeyToken } from '../../../command-api/keys/key-token.js';
import { createShortenHandler } from '../../../command-api/links/create/handler.js';
import { shortenCommand, type LinkValues } from '../../../command-api/testing/links.js';
import { readConfig } from '../../config/config.js';
import { LedgerClock } from '../../ledger/clock.js';
import { withDatabase } from '../../tools/cli/database.js';
import { serversFor, type IssuedKey, type Product } from './product.js';

/**
 * Creates links with codes that only imports may have, by the handler of POST /v2/shorten, which checks no code.
 *
 * @param links `code` is the subject of the link
 */
export const createImportedLinks = async (
  { dataDir }: Pick<Product, 'dataDir'>,
  key: Pick<IssuedKey, 'id' | 'account' | 'key'>,
  links: readonly (LinkValues & { readonly code: string })[],
): Promise<void> => {
  const config = readConfig({ ...(await serversFor(dataDir)), DATA_DIR: dataDir });
  await withDatabase(config, async ({ pool, outbox }) => {
    const generateCode = (): string => {
      throw new Error('a code is taken');
    };
    const handler = createShortenHandler({
      pool,
      outbox,
      clock: new LedgerClock(pool),
      generateCode,
    });
    const command = shortenCommand(
      { ...key, hash: hashKeyToken(key.key) },
      links.map((link) => ({ custom: true, ...link })),
    );
    const result = await handler.shorten(command);
    const outcomes = result.type === 'decided' ? result.outcomes.map(({ type }) => type) : [];
    if (outcomes.some((outcome) => outcome !== 'created'))
      throw new Error(`links were not created: ${outcomes.join()}`);
  });
};
