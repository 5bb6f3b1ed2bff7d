import { createHash } from 'node:crypto';
import { findActiveDomains, type ActiveDomains } from '../../../ops/ledger/active-domains.js';
import { linksWithCodes } from '../../../ops/ledger/codes.js';
import { readLinkStates } from '../../../ops/ledger/link-states.js';
import type { LedgerClock } from '../../../ops/ledger/clock.js';
import type { Outbox } from '../../../ops/event-log/outbox/port.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import { initialState } from '../../../schemas/folds/link.js';
import { messages } from '../../../schemas/http/errors.js';
import { linkOfSubject, shortUrlOf } from '../../../schemas/link-subject.js';
import { encodeQr, renderQr } from './render.js';
import { failure, prefers, type Reply } from '../../http/reply.js';
import { actorIn } from '../../http/request-actor.js';
import type { V2Handler } from '../../http/row-handlers.js';
import { addressedCode } from '../addressed-link.js';
import { goneReply } from '../view.js';
import { monthlyLimitReached, type PlanDeps } from '../../admission/admitted-call.js';
import { createBatcher } from '../../../ops/platform/concurrency/batcher.js';
import { decideAll, type Ledger } from '../../../ops/ledger/decide.js';
import { meterRows } from '../../../ops/ledger/meters.js';
import { mayBeCausedByOneCommand } from '../../../ops/platform/error-codes.js';
import type { CommandRequest } from '../../../schemas/decision.js';
import { qrCodeDecider, type SpendQrCode } from './command.js';

/** Spends QR codes in groups: monthly quota and event in one transaction. */
export const createQrCodeQuota = (ledger: Required<Ledger>) => {
  const run = async (
    commands: readonly CommandRequest<SpendQrCode>[],
  ): Promise<readonly ReturnType<typeof qrCodeDecider.decide>[]> => {
    const { results } = await decideAll(ledger, meterRows, qrCodeDecider, commands);
    return results.map(({ decision }) => decision);
  };
  const batcher = createBatcher({ maxBatch: 200, maxWaiting: 2_000, run, mayBeCausedByOneCommand });
  return { spend: (command: CommandRequest<SpendQrCode>) => batcher.submit(command) };
};

export interface QrDeps extends PlanDeps {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly clock: LedgerClock;
  readonly shortUrlHost: string;
  readonly activeDomains: ActiveDomains;
}

const imageTypes = { png: 'image/png', svg: 'image/svg+xml' } as const;
/** The content type for clients that read bytes, but no images. */
const bytes = 'application/octet-stream';

/** GET /v2/qr/:shortCode, and POST /console/v2/qr/:shortCode */
export const createQrHandler = (deps: QrDeps): V2Handler<'getQrCode'> => {
  const { pool, outbox, clock } = deps;
  const quota = createQrCodeQuota({ pool, outbox, clock });
  return async ({ ctx, query, state: requestState, parameter }) => {
    const { call, platform } = requestState;
    if (!platform.qr) return failure(400, messages.qrOff);

    const addressed = addressedCode(ctx, parameter);
    if (addressed.type === 'refused') return addressed.reply;
    const { value: code } = addressed;
    const [subject = code] = await linksWithCodes(pool, [code]);
    const { state = initialState } =
      (await readLinkStates(pool, outbox, [subject])).get(subject) ?? {};
    const { domain } = linkOfSubject(code);
    if (domain !== null && state.status !== 'none') {
      // After a release of the domain, the edge serves no link of its former owner.
      const active = await findActiveDomains(deps, state.link.account, [domain]);
      if (!active.has(domain)) return failure(404, messages.codeNotFound);
    }
    const gone = goneReply(state, call.now);
    if (gone) return gone;

    const { key } = call;
    const limit = deps.plans.plans[key.plan].monthlyQrCodes;
    const exhausted = (): Reply =>
      monthlyLimitReached(messages.qrCodesExhausted, limit, call, deps);
    if (limit !== null && call.usage.qrCodes >= limit) return exhausted();

    const text = shortUrlOf(code, deps.shortUrlHost) + (query.mark === undefined ? '' : '?qr');
    const imageType = imageTypes[query.format];
    const contentType = prefers(ctx, bytes, imageType) ? bytes : imageType;
    const tag = createHash('sha256')
      .update(JSON.stringify([text, query, contentType]))
      .digest('base64url');
    const headers = { ETag: `"${tag}"`, 'Cache-Control': 'private, max-age=3600' };
    // 304 and HEAD return no QR code, so they spend none.
    if (ctx.headers['if-none-match']?.includes(headers.ETag)) {
      return { type: 'raw', status: 304, contentType: '', body: null, headers };
    }
    const image = encodeQr(text, query.ecc);
    if (image.size > query.size)
      return failure(400, `size must be at least ${image.size} for this short URL`);
    if (ctx.method === 'HEAD')
      return { type: 'raw', status: 200, contentType, body: null, headers };
    const body = renderQr(image, query);
    const decision = await quota.spend({
      type: 'SpendQrCode',
      subject: key.rootId,
      data: { account: key.account, code, limit },
      metadata: actorIn(requestState, key.id),
    });
    if (decision.type === 'refused') return exhausted();
    return { type: 'raw', status: 200, contentType, body, headers };
  };
};
