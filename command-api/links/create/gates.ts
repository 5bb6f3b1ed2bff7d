import { messages, type PlanError } from '../../../schemas/http/errors.js';
import { planHas, type GatedFeature, type PlanName } from '../../../schemas/plans.js';
import type { RedirectRule } from '../../../schemas/redirect-rules.js';
import type { PlatformSwitches } from '../../admission/admission.js';
import { failure, json, type Reply } from '../../http/reply.js';
import type { PlanDeps, V2State } from '../../admission/admitted-call.js';

/** The fields of a request that a platform switch or a plan can refuse. */
interface GatedFields {
  readonly url?: string | undefined;
  readonly rules?: readonly RedirectRule[] | null | undefined;
  readonly alias?: string | null | undefined;
  readonly password?: string | null | undefined;
  readonly expiresIn?: number | null | undefined;
  readonly expiresAt?: string | null | undefined;
}

/** The features that a plan may lack, in the contract's order, with the field of each. */
const gatedFeatures = [
  { feature: 'customAlias', field: 'alias', needs: 'Custom aliases require' },
  { feature: 'passwordProtection', field: 'password', needs: 'Password protection requires' },
] as const satisfies readonly { feature: GatedFeature; field: string; needs: string }[];

/** The first feature of the request that is switched off, in the specification's order. */
const switchedOff = (fields: GatedFields, platform: PlatformSwitches): string | null => {
  const isMoved = fields.url !== undefined || fields.rules != null;
  if (isMoved && !platform.shortening) return messages.shorteningOff;
  if (fields.alias != null && !platform.aliases) return messages.aliasesOff;
  if (fields.password != null && !platform.passwords) return messages.passwordsOff;
  const expires = fields.expiresIn != null || fields.expiresAt != null;
  if (expires && !platform.expiration) return messages.expirationOff;
  return null;
};

/** 403 for a feature that the plan of a key lacks. */
export const planRefusal = (
  feature: PlanError['feature'],
  message: string,
  currentPlan: PlanName,
  upgradeUrl: string,
): Reply => {
  const error = 'Forbidden';
  const body: PlanError = { statusCode: 403, message, error, feature, currentPlan, upgradeUrl };
  return json(403, body);
};

/** The refusal by platform switches or plan, in the contract's order, or `null`. */
export const gateRefusal = (
  fields: GatedFields,
  { call, platform }: Pick<V2State, 'call' | 'platform'>,
  { plans, upgradeUrl }: PlanDeps,
): Reply | null => {
  const off = switchedOff(fields, platform);
  if (off !== null) return failure(400, off);
  const { plan } = call.key;
  const lacking = gatedFeatures.find(
    ({ feature, field }) => fields[field] != null && !planHas(plans, plan, feature),
  );
  if (!lacking) return null;
  const { feature, needs } = lacking;
  return planRefusal(
    feature,
    `${needs} the ${plans.gates[feature]} plan or higher.`,
    plan,
    upgradeUrl,
  );
};
