import { messages, type PlanError } from '../../../schemas/http/errors.js';
import { planHas, type GatedFeature } from '../../../schemas/plans.js';
import type { PlatformSwitches } from '../../admission/admission.js';
import { failure, json, type Reply } from '../../http/reply.js';
import type { PlanDeps, V2State } from '../../admission/admitted-call.js';

/** What a request asks for that may be switched off, or that a plan may lack. Nothing else is refused. */
export interface AskedFeatures {
  readonly url?: string | undefined;
  readonly alias?: string | null | undefined;
  readonly password?: string | null | undefined;
  readonly expiresIn?: number | null | undefined;
  readonly expiresAt?: string | null | undefined;
}

/** The features that a plan may lack, in the contract's order, each with the field that needs it. */
const gatedFeatures = [
  { feature: 'customAlias', field: 'alias', needs: 'Custom aliases require' },
  { feature: 'passwordProtection', field: 'password', needs: 'Password protection requires' },
] as const satisfies readonly { feature: GatedFeature; field: string; needs: string }[];

/** The first feature of the request that is switched off, in the specification's order. */
const switchedOff = (asked: AskedFeatures, platform: PlatformSwitches): string | null => {
  if (asked.url !== undefined && !platform.shortening) return messages.shorteningOff;
  if (asked.alias != null && !platform.aliases) return messages.aliasesOff;
  if (asked.password != null && !platform.passwords) return messages.passwordsOff;
  const expires = asked.expiresIn != null || asked.expiresAt != null;
  if (expires && !platform.expiration) return messages.expirationOff;
  return null;
};

/** What the platform's switches and the key's plan refuse, in the contract's order; `null`: nothing. */
export const gateRefusal = (
  asked: AskedFeatures,
  { call, platform }: V2State,
  { plans, upgradeUrl }: PlanDeps,
): Reply | null => {
  const off = switchedOff(asked, platform);
  if (off !== null) return failure(400, off);
  const { plan } = call.key;
  const lacking = gatedFeatures.find(
    ({ feature, field }) => asked[field] != null && !planHas(plans, plan, feature),
  );
  if (!lacking) return null;
  const { feature, needs } = lacking;
  const body: PlanError = {
    statusCode: 403,
    message: `${needs} the ${plans.gates[feature]} plan or higher.`,
    error: 'Forbidden',
    feature,
    currentPlan: plan,
    upgradeUrl,
  };
  return json(403, body);
};
