import type { Context } from 'koa';
import { type EventNamed } from '../../../schemas/events/catalogue.js';
import { messages, type PlanError } from '../../../schemas/http/errors.js';
import {
  shortenRequest,
  type LinkResponse,
  type ShortenRequest,
} from '../../../schemas/http/shorten.js';
import { planHas, type GatedFeature, type PlanTable } from '../../../schemas/plans.js';
import type { Pass } from '../../domain/admission.js';
import { isReservedAlias } from '../../domain/reserved-alias.js';
import type { PlatformSwitches } from '../../ledger/admission.js';
import type { ShortenDesk, ShortenOutcome } from '../../ledger/shorten.js';
import { bodyReader, parseJson } from '../body.js';
import { failure, json, unavailable, type Reply } from '../reply.js';
import { replay, type IdempotencyCheck, type IdempotencyDesk } from './idempotency.js';
import { monthlyLimitReached, type V2State } from './pass.js';

const bodyLimit = 65_536;

export interface ShortenDeps {
  readonly desk: ShortenDesk;
  readonly idempotency: IdempotencyDesk;
  readonly plans: PlanTable;
  readonly isOwnHost: (destination: URL) => boolean;
  readonly generateCode: () => string;
  readonly shortUrlHost: string;
  readonly upgradeUrl: string;
}

const featureNames: Readonly<Record<GatedFeature, string>> = {
  customAlias: 'Custom aliases require',
  passwordProtection: 'Password protection requires',
};

/** What is switched off for everybody comes first, in the specification's order. */
const switchedOff = (request: ShortenRequest, platform: PlatformSwitches): Reply | null => {
  if (!platform.shortening) return failure(400, messages.shorteningOff);
  if (request.alias !== null && !platform.aliases) return failure(400, messages.aliasesOff);
  if (request.password !== null && !platform.passwords) return failure(400, messages.passwordsOff);
  if (request.expiresIn !== null && !platform.expiration) {
    return failure(400, messages.expirationOff);
  }
  return null;
};

/** The Link that a LinkCreated event made, as a client sees it. */
export const linkOf = (event: EventNamed<'LinkCreated'>, shortUrlHost: string): LinkResponse => {
  const { url, custom, expiresAt, maxClicks } = event.data;
  return {
    shortUrl: `${shortUrlHost}/${event.subject}`,
    shortCode: event.subject,
    url,
    ...(custom && { alias: event.subject }),
    ...(expiresAt !== null && { expiresAt }),
    ...(maxClicks !== null && { maxClicks }),
    createdAt: event.time,
  };
};

/** POST /v2/shorten */
export const createShortenHandler = (
  deps: ShortenDeps,
): ((ctx: Context, state: V2State) => Promise<Reply>) => {
  const schema = shortenRequest(deps.isOwnHost);
  const readBody = bodyReader(bodyLimit);

  const lacking = (feature: GatedFeature, pass: Pass): Reply | null => {
    const { plan } = pass.key;
    if (planHas(deps.plans, plan, feature)) return null;
    const body: PlanError = {
      statusCode: 403,
      message: `${featureNames[feature]} the ${deps.plans.gates[feature]} plan or higher.`,
      error: 'Forbidden',
      feature,
      currentPlan: plan,
      upgradeUrl: deps.upgradeUrl,
    };
    return json(403, body);
  };

  const linkLimitOf = (pass: Pass): number | null => deps.plans.plans[pass.key.plan].monthlyLinks;

  const linksExhausted = (pass: Pass): Reply =>
    monthlyLimitReached(messages.linksExhausted, linkLimitOf(pass) ?? 0, pass, deps.upgradeUrl);

  /** All that can be refused without the ledger. */
  const refuse = (request: ShortenRequest, { pass, platform }: V2State): Reply | null => {
    const off = switchedOff(request, platform);
    if (off) return off;
    const lacks =
      (request.alias === null ? null : lacking('customAlias', pass)) ??
      (request.password === null ? null : lacking('passwordProtection', pass));
    if (lacks) return lacks;
    const limit = linkLimitOf(pass);
    if (limit !== null && pass.usage.links >= limit) return linksExhausted(pass);
    if (request.alias !== null && isReservedAlias(request.alias)) {
      return failure(400, messages.aliasReserved);
    }
    return null;
  };

  const replyTo = (outcome: ShortenOutcome | undefined, pass: Pass): Reply => {
    switch (outcome?.type) {
      case 'created':
        return json(201, linkOf(outcome.event, deps.shortUrlHost));
      case 'aliasTaken':
        return failure(400, messages.aliasTaken);
      case 'linksExhausted':
        return linksExhausted(pass);
      case undefined:
        return unavailable();
      default: {
        const unknown: never = outcome;
        return unknown;
      }
    }
  };

  const create = async (
    request: ShortenRequest,
    { pass, requestId }: V2State,
    check: IdempotencyCheck,
  ): Promise<Reply> => {
    const { key } = pass;
    const idempotent = check.type === 'first' ? check.request : null;
    const result = await deps.desk.shorten({
      keyId: key.id,
      linkLimit: linkLimitOf(pass),
      links: [
        {
          code: request.alias ?? deps.generateCode(),
          custom: request.alias !== null,
          url: request.url,
          expiresIn: request.expiresIn,
          maxClicks: request.maxClicks,
          keyId: key.id,
          account: key.account,
          requestId,
        },
      ],
      idempotency: idempotent?.scope ?? null,
      answerToKeep: ([outcome]) => {
        if (!idempotent || outcome?.type !== 'created') return null;
        const answer = JSON.stringify(linkOf(outcome.event, deps.shortUrlHost));
        return { ...idempotent.scope, bodyHash: idempotent.bodyHash, status: 201, answer };
      },
    });
    if (result.type === 'decided') return replyTo(result.outcomes[0], pass);
    return idempotent ? replay(result.answer, idempotent.bodyHash) : unavailable();
  };

  return async (ctx, state) => {
    const body = await readBody(ctx);
    if (body.type === 'refused') return body.reply;
    const check = await deps.idempotency.check(
      ctx.headers['idempotency-key'],
      state.pass.key.id,
      ctx.path,
      body.text,
    );
    if (check.type === 'reply') return check.reply;
    try {
      const parsed = parseJson(body.text);
      if (parsed.type === 'refused') return parsed.reply;
      const request = schema.safeParse(parsed.json);
      if (!request.success) return failure(400, request.error.issues[0]?.message ?? 'Bad Request');
      return refuse(request.data, state) ?? (await create(request.data, state, check));
    } finally {
      if (check.type === 'first') check.release();
    }
  };
};
