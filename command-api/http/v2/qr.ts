import { createHash } from 'node:crypto';
import type { LinkState } from '../../../schemas/folds/link.js';
import { messages } from '../../../schemas/http/errors.js';
import { qrQuery } from '../../../schemas/http/qr.js';
import { shortCodePattern } from '../../../schemas/http/shorten.js';
import type { PlanTable } from '../../../schemas/plans.js';
import type { QrCodeQuota } from '../../ledger/qr-codes.js';
import { renderQr } from '../../qr/render.js';
import { failure, type Reply } from '../reply.js';
import { parseAs, type Handler } from '../requests.js';
import { monthlyLimitReached, type V2State } from './admitted-call.js';

export interface QrDeps {
  readonly qrCodes: QrCodeQuota;
  readonly findLink: (code: string) => Promise<LinkState>;
  readonly shortUrlHost: string;
  readonly plans: PlanTable;
  readonly upgradeUrl: string;
}

const contentTypes = { png: 'image/png', svg: 'image/svg+xml' } as const;

/** Why a link has no QR code (any more), if so. */
const goneReply = (state: LinkState, now: Date): Reply | null => {
  switch (state.status) {
    case 'none':
      return failure(404, messages.codeNotFound);
    case 'blocked':
      return { ...failure(410, messages.linkBlocked), errorType: 'BLOCKED' };
    case 'expired':
      return { ...failure(410, messages.linkExpired), errorType: 'EXPIRED' };
    case 'active': {
      const { expiresAt } = state.link;
      const over = expiresAt !== null && new Date(expiresAt) <= now;
      return over ? { ...failure(410, messages.linkExpired), errorType: 'EXPIRED' } : null;
    }
    default: {
      const unknown: never = state;
      return unknown;
    }
  }
};

/** GET /v2/qr/:shortCode */
export const createQrHandler =
  (deps: QrDeps): Handler<V2State> =>
  async (ctx, { call, platform, requestId }, parameter) => {
    const query = parseAs(qrQuery, { ...ctx.query });
    if (query.type === 'refused') return query.reply;
    if (!platform.qr) return failure(400, messages.qrOff);

    const code = parameter('shortCode');
    const state = shortCodePattern.test(code) ? await deps.findLink(code) : null;
    const gone = state ? goneReply(state, call.now) : failure(404, messages.codeNotFound);
    if (gone) return gone;

    const { key } = call;
    const limit = deps.plans.plans[key.plan].monthlyQrCodes;
    const exhausted = (): Reply =>
      monthlyLimitReached(messages.qrCodesExhausted, limit ?? 0, call, deps.upgradeUrl);
    if (limit !== null && call.usage.qrCodes >= limit) return exhausted();

    const text = `${deps.shortUrlHost}/${code}`;
    const tag = createHash('sha256')
      .update(JSON.stringify([text, query.value]))
      .digest('base64url');
    const headers = { ETag: `"${tag}"`, 'Cache-Control': 'private, max-age=3600' };
    const type = contentTypes[query.value.format];
    // Neither costs a QR code: none is handed out.
    if (ctx.headers['if-none-match']?.includes(headers.ETag)) {
      return { type: 'raw', status: 304, contentType: type, body: null, headers };
    }
    const body = renderQr(text, query.value);
    if (ctx.method === 'GET') {
      const { id: keyId, account } = key;
      const outcome = await deps.qrCodes.spend({ keyId, account, code, limit, requestId });
      if (outcome === 'exhausted') return exhausted();
    }
    return { type: 'raw', status: 200, contentType: type, body, headers };
  };
