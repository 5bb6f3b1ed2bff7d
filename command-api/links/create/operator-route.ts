import { setTimeout as sleep } from 'node:timers/promises';
import { findActiveDomains } from '../../../ops/ledger/active-domains.js';
import { operatorsKeyId } from '../../../schemas/folds/key-meter.js';
import { messages } from '../../../schemas/http/errors.js';
import { codeOn, linkCodeOf, subjectOf, type IgnoresCase } from '../../../schemas/link-subject.js';
import { urlsOf } from '../../../schemas/link-options.js';
import type { AdminHandlers } from '../../http/operator-requests.js';
import { failure } from '../../http/reply.js';
import { namedDomain } from '../addressed-link.js';
import { checkGroups, safetyResponses } from '../../safety/safety-check.js';
import type { CreateLink } from './command.js';
import { toResponse } from './view.js';
import { createShortenHandler } from './handler.js';
import { codeGenerator, newSubject } from './request.js';

/** POST /admin/links: creates a link for any account, without quotas and switches, also with a reserved alias. */
export const createHandlers = ((deps) => {
  const { pool, outbox, clock, delivery, shortUrlHost, safety, passwords, respond, codeLengths } =
    deps;
  const ignoresCase: IgnoresCase = (domain) => deps.activeDomains.ignoresCase(domain);
  const generateCode = codeGenerator(ignoresCase);
  const { shorten } = createShortenHandler({ pool, outbox, clock, generateCode });
  const lengthOn = async (domain: string | null): Promise<number> => {
    await codeLengths.load(domain);
    return codeLengths.next(domain, null);
  };

  return {
    async createLink({ body: request, state }) {
      const { alias: sent, domain: name, password, ...fields } = request;
      const domain = namedDomain(name, state);
      if (domain !== null) await findActiveDomains(deps, request.account, [domain]);
      const alias = sent === null ? null : codeOn(domain, sent, ignoresCase);
      if (alias !== null && linkCodeOf(alias) === null) {
        return failure(400, messages.aliasReserved);
      }
      const checking = checkGroups(safety, [urlsOf(request)]);
      const [verdict = 'unknown'] = await state.uncounted(checking);
      const unsafe = safetyResponses[verdict];
      if (unsafe) return unsafe;
      const hashes =
        password === null ? [] : await state.uncounted(passwords.hashAll('operators', [password]));
      const [passwordHash = null] = hashes;
      const subject =
        alias === null
          ? newSubject(generateCode, domain, await lengthOn(domain), {
              stalled: await delivery.stalled(),
            })
          : subjectOf({ domain, code: alias });
      const data: CreateLink['data'] = {
        ...fields,
        ...{ custom: alias !== null, passwordHash },
        ...{ reuse: false, keyId: operatorsKeyId },
      };
      const result = await shorten({
        ...{ keyHash: null, linkLimit: null, idempotency: null },
        links: [{ type: 'CreateLink', subject, data, metadata: state.actor }],
      });
      const outcomes = result.type === 'decided' ? result.outcomes : [];
      const response = toResponse({ type: 'link', shortUrlHost }, outcomes);
      if (result.type !== 'decided' || response?.type !== 'created') {
        const isInactive = outcomes[0]?.type === 'domainInactive';
        return failure(400, isInactive ? messages.domainInactive : messages.aliasTaken);
      }
      // A response of 201 promises that the link redirects on every edge.
      await sleep(result.liveIn);
      const created = { ...response.body, account: request.account };
      return respond(result.outboxPosition, 201, created);
    },
  };
}) satisfies AdminHandlers;
