import type { OutboxDelivery } from '../../../ops/platform/outbox/port.js';
import type { ShortenHandler } from '../../ledger/shorten.js';
import { unavailable } from '../reply.js';
import type { Idempotency } from './idempotency.js';
import { answerToKeep, idempotentPost, replyTo } from './idempotent-post.js';
import type { LinkRequests } from './link-requests.js';

const bodyLimit = 65_536;

export interface ShortenDeps {
  readonly handler: ShortenHandler;
  readonly idempotency: Idempotency;
  readonly delivery: OutboxDelivery;
  readonly requests: LinkRequests;
}

/** POST /v2/shorten */
export const shortenRoute = (deps: ShortenDeps) => {
  const { handler, requests } = deps;
  return idempotentPost(deps.idempotency, bodyLimit, async (json, state, idempotent) => {
    const [prepared] = await requests.prepare([json], state);
    if (!prepared) return unavailable();
    if (prepared.type === 'refused') return prepared.reply;
    const { call } = state;
    const result = await handler.shorten({
      keyId: call.key.id,
      linkLimit: requests.linkLimitOf(call),
      links: await requests.complete([prepared], call),
      idempotency: idempotent?.scope ?? null,
      answerToKeep: (outcomes) => {
        const [outcome] = outcomes;
        return outcome?.type === 'created'
          ? answerToKeep(idempotent, 201, requests.linkOf(outcome.event), outcomes)
          : null;
      },
    });
    return replyTo(result, idempotent, deps, ([outcome]) =>
      outcome ? requests.replyTo(outcome, call) : unavailable(),
    );
  });
};
