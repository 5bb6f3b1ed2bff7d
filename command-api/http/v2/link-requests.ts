import type { EventNamed } from '../../../schemas/events/catalogue.js';
import { messages, type PlanError } from '../../../schemas/http/errors.js';
import {
  shortenRequest,
  type LinkResponse,
  type ShortenRequest,
} from '../../../schemas/http/shorten.js';
import { planHas, type GatedFeature, type PlanTable } from '../../../schemas/plans.js';
import type { Pass } from '../../domain/admission.js';
import type { CreateLink } from '../../domain/link.js';
import type { FindReservation } from '../../domain/reserved-alias.js';
import type { PlatformSwitches } from '../../ledger/admission.js';
import type { ShortenOutcome } from '../../ledger/shorten.js';
import { failure, json, type Reply } from '../reply.js';
import { monthlyLimitReached, type V2State } from './pass.js';

export interface LinkRequestDeps {
  readonly plans: PlanTable;
  readonly isOwnHost: (destination: URL) => boolean;
  readonly findReservation: FindReservation;
  readonly generateCode: () => string;
  readonly shortUrlHost: string;
  readonly upgradeUrl: string;
}

/** A request for a link that only the ledger can still refuse, or the reply that refuses it. */
export type Prepared =
  | { readonly type: 'ready'; readonly create: CreateLink }
  | { readonly type: 'refused'; readonly reply: Reply };

/** What POST /v2/shorten and each item of a batch have in common. */
export interface LinkRequests {
  prepare(json: unknown, state: V2State): Prepared;
  linkLimitOf(pass: Pass): number | null;
  linkOf(event: EventNamed<'LinkCreated'>): LinkResponse;
  replyTo(outcome: ShortenOutcome, pass: Pass): Reply;
}

const gatedMessages: Readonly<Record<GatedFeature, string>> = {
  customAlias: 'Custom aliases require',
  passwordProtection: 'Password protection requires',
};

/** What is switched off for everybody, in the specification's order. */
const switchedOff = (request: ShortenRequest, platform: PlatformSwitches): string | null => {
  if (!platform.shortening) return messages.shorteningOff;
  if (request.alias !== null && !platform.aliases) return messages.aliasesOff;
  if (request.password !== null && !platform.passwords) return messages.passwordsOff;
  if (request.expiresIn !== null && !platform.expiration) return messages.expirationOff;
  return null;
};

const gatedFeatures = (request: ShortenRequest): readonly GatedFeature[] => [
  ...(request.alias === null ? [] : ['customAlias' as const]),
  ...(request.password === null ? [] : ['passwordProtection' as const]),
];

export const createLinkRequests = (deps: LinkRequestDeps): LinkRequests => {
  const { plans, upgradeUrl, shortUrlHost } = deps;
  const schema = shortenRequest(deps.isOwnHost);

  const planRefusal = (feature: GatedFeature, currentPlan: PlanError['currentPlan']): Reply => {
    const body: PlanError = {
      statusCode: 403,
      message: `${gatedMessages[feature]} the ${plans.gates[feature]} plan or higher.`,
      error: 'Forbidden',
      feature,
      currentPlan,
      upgradeUrl,
    };
    return json(403, body);
  };

  const linkLimitOf = (pass: Pass): number | null => plans.plans[pass.key.plan].monthlyLinks;

  const linksExhausted = (pass: Pass): Reply =>
    monthlyLimitReached(messages.linksExhausted, linkLimitOf(pass) ?? 0, pass, upgradeUrl);

  const linkOf = (event: EventNamed<'LinkCreated'>): LinkResponse => {
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

  /** All that can be refused without the ledger, in the contract's order. */
  const refusalOf = (request: ShortenRequest, { pass, platform }: V2State): Reply | null => {
    const off = switchedOff(request, platform);
    if (off !== null) return failure(400, off);
    const { plan } = pass.key;
    const lacking = gatedFeatures(request).find((feature) => !planHas(plans, plan, feature));
    if (lacking) return planRefusal(lacking, plan);
    const limit = linkLimitOf(pass);
    if (limit !== null && pass.usage.links >= limit) return linksExhausted(pass);
    if (request.alias !== null && deps.findReservation(request.alias) !== null) {
      return failure(400, messages.aliasReserved);
    }
    return null;
  };

  return {
    linkLimitOf,
    linkOf,
    prepare(body, state) {
      const parsed = schema.safeParse(body);
      if (!parsed.success) {
        const message = parsed.error.issues[0]?.message ?? 'Bad Request';
        return { type: 'refused', reply: failure(400, message) };
      }
      const { alias, url, expiresIn, maxClicks } = parsed.data;
      const reply = refusalOf(parsed.data, state);
      if (reply) return { type: 'refused', reply };
      const { key } = state.pass;
      const create = {
        code: alias ?? deps.generateCode(),
        custom: alias !== null,
        url,
        expiresIn,
        maxClicks,
        keyId: key.id,
        account: key.account,
        requestId: state.requestId,
      };
      return { type: 'ready', create };
    },
    replyTo(outcome, pass) {
      switch (outcome.type) {
        case 'created':
          return json(201, linkOf(outcome.event));
        case 'aliasTaken':
          return failure(400, messages.aliasTaken);
        case 'linksExhausted':
          return linksExhausted(pass);
        default: {
          const unknown: never = outcome;
          return unknown;
        }
      }
    },
  };
};
