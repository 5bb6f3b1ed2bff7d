import { aliasOverrideDecider } from '../../../command-api/aliases/command.js';
import { platformDecider } from '../../../command-api/platform/command.js';
import { createAdmission } from '../../../command-api/admission/admission.js';
import { createApiKeyHandler } from '../../../command-api/keys/handler.js';
import { createConsoleAdmission } from '../../../command-api/admission/console-calls.js';
import { expireDueLinks } from '../../../command-api/links/expire/expiry.js';
import { createLinkBlockHandler } from '../../../command-api/links/block/handler.js';
import { createLinkChanges } from '../../../command-api/links/change/managed-links.js';
import { closeAllMinutes } from '../../../command-api/admission/metering.js';
import { createQrCodeQuota } from '../../../command-api/links/qr/route.js';
import {
  createShortenHandler,
  type ShortenCommand,
} from '../../../command-api/links/create/handler.js';
import { actor, spendQrCode, type TestKey } from '../../../command-api/testing/keys.js';
import { randomCode, shortenCommand, type LinkValues } from '../../../command-api/testing/links.js';
import { ClickBudget } from '../../../redirect-edge/links/click-budget.js';
import { platformSubject } from '../../../schemas/folds/platform.js';
import { defaultPlanTable } from '../../../schemas/plans.js';
import { scopeNames } from '../../../schemas/scopes.js';
import { unknownVisitor } from '../../../schemas/testing/visitor.js';
import { aliasOverrides } from '../../ledger/alias-overrides.js';
import { decideOne } from '../../ledger/decide.js';
import { platformSwitches, readPlatform } from '../../ledger/platform.js';
import type { TestNode } from './node.js';

/** Every kind of command that changes the ledger. */
export const ledgerCommandNames = [
  'create a link',
  'create a link with an alias',
  'create a link with an idempotency key',
  'admit a call and create its link',
  'admit a call',
  'admit a call of the console',
  'take a click',
  'spend a QR code',
  'create a root key',
  'rename a key',
  'rotate a key',
  'describe a link',
  'block a link',
  'switch the platform',
  'give away an alias',
  'expire links',
  'close minutes',
] as const;
export type LedgerCommandName = (typeof ledgerCommandNames)[number];
export type LedgerCommands = Readonly<Record<LedgerCommandName, () => Promise<unknown>>>;

/**
 * Commands of each kind, through the real handlers. Each function sends one command, and rejects if it fails.
 *
 * @param key the key of the calls; its limits must not be reached
 * @param rotated a key that gets new secrets
 * @param link the code of a link with a click limit, which must not be reached
 */
export const ledgerCommands = (
  node: Pick<TestNode, 'pool' | 'outbox' | 'clock'>,
  key: TestKey,
  rotated: TestKey,
  link: string,
): LedgerCommands => {
  const { pool, outbox, clock } = node;
  const ledger = { pool, outbox };
  const creation = { ...ledger, clock, generateCode: randomCode };
  const admission = createAdmission(pool, clock, defaultPlanTable);
  const consoleAdmission = createConsoleAdmission(pool, admission);
  const { shorten, admitAndCreate } = createShortenHandler(creation, {
    admission,
    commandOf: (value: ShortenCommand) => ({ type: 'read', value }),
  });
  const clicks = new ClickBudget(pool, outbox);
  const qrCodes = createQrCodeQuota({ pool, outbox, clock });
  const keys = createApiKeyHandler(pool, outbox);
  const changeLinks = createLinkChanges(pool, outbox);
  const blocks = createLinkBlockHandler(pool, outbox);
  let count = 0;
  const next = (): number => (count += 1);

  const creating = (changes: LinkValues = {}) => shortenCommand(key, [changes]);
  const call = { keyHash: key.hash, metered: true };

  return {
    'create a link': () => shorten(creating({ maxClicks: 1_000_000_000 })),
    'create a link with an alias': () =>
      // Already expired, for the command that expires links.
      shorten(creating({ code: `alias-${randomCode()}`, custom: true, expiresIn: -60 })),
    'create a link with an idempotency key': () =>
      shorten({
        ...creating(),
        idempotency: {
          scope: { keyId: key.id, path: '/v2/shorten', idempotencyKey: randomCode() },
          bodyHash: Buffer.alloc(32),
          form: { type: 'link', shortUrlHost: 'http://localhost:8081' },
        },
      }),
    'admit a call and create its link': () => admitAndCreate({ call, request: creating() }),
    'admit a call': () => admission.admit(call),
    'admit a call of the console': () => consoleAdmission.admit(call),
    'take a click': () =>
      clicks.take({ subject: link, requestId: 'request-1', data: unknownVisitor }),
    'spend a QR code': () => qrCodes.spend(spendQrCode(key, null)),
    'create a root key': () =>
      keys.issue(
        { name: 'root', plan: 'FREE', account: randomCode(), scopes: scopeNames, expiresIn: null },
        actor,
      ),
    'rename a key': () =>
      keys.handle(key.id, { type: 'ChangeApiKey', data: { name: `name ${next()}` } }, actor),
    'rotate a key': () => keys.rotate({ ...rotated, requestId: 'request-1' }, rotated.id, 0),
    'describe a link': () =>
      changeLinks([
        {
          type: 'ChangeLink',
          subject: link,
          data: {
            ...{ account: null, versions: null, safeUrls: [], countedClicks: 0 },
            change: { title: `title ${next()}` },
          },
          metadata: actor,
        },
      ]),
    'block a link': async () => {
      const { rows } = await pool.query<{ blocked: boolean }>(
        'SELECT blocked FROM ledger.links WHERE subject = $1',
        [link],
      );
      const type = rows[0]?.blocked === true ? 'UnblockLink' : 'BlockLink';
      return blocks.handle(link, { type, reason: 'phishing' }, actor);
    },
    'switch the platform': async () => {
      const { features } = await readPlatform(pool);
      return decideOne(ledger, platformSwitches, platformDecider, {
        type: 'SwitchPlatform',
        subject: platformSubject,
        data: { features: { qr: !features.qr } },
        metadata: actor,
      });
    },
    'give away an alias': () =>
      decideOne(ledger, aliasOverrides, aliasOverrideDecider, {
        type: 'SetAliasOverride',
        subject: `alias-${randomCode()}`,
        data: { account: key.account },
        metadata: actor,
      }),
    'expire links': () => expireDueLinks(pool, outbox, clock),
    'close minutes': () => closeAllMinutes(pool, outbox),
  };
};
