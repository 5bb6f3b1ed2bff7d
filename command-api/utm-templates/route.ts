import type { Outbox, OutboxDelivery } from '../../ops/event-log/outbox/port.js';
import { createLockedDecisions } from '../../ops/ledger/decide.js';
import {
  countUtmTemplates,
  readUtmTemplates,
  utmTemplates,
} from '../../ops/ledger/utm-templates.js';
import type { Client, Pool } from '../../ops/platform/postgres/pool.js';
import { utmTemplateSubject, type UtmTemplate } from '../../schemas/folds/utm-template.js';
import { messages } from '../../schemas/http/errors.js';
import { utmTemplateName, type UtmTemplateResponse } from '../../schemas/http/utm-templates.js';
import { utmNames } from '../../schemas/utm.js';
import type { V2State } from '../admission/admitted-call.js';
import { failure, json, noContent, whenPublished, type Reply } from '../http/reply.js';
import { parseAs } from '../http/requests.js';
import { actorOf, type V2Handlers } from '../http/row-handlers.js';
import {
  maxUtmTemplates,
  utmTemplateDecider,
  type UtmTemplateCommand,
  type UtmTemplateRefusal,
} from './command.js';

interface UtmTemplateDeps {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly delivery: OutboxDelivery;
}

const refusals: Readonly<Record<UtmTemplateRefusal['type'], Reply>> = {
  notFound: failure(404, messages.utmTemplateNotFound),
  utmTemplatesExhausted: failure(400, `At most ${maxUtmTemplates} UTM templates an account`),
};

const viewOf = ({ name, lastEventAt, ...template }: UtmTemplate): UtmTemplateResponse => ({
  name,
  ...Object.fromEntries(
    utmNames.flatMap((parameter) => {
      const value = template[parameter];
      return value === null ? [] : [[parameter, value]];
    }),
  ),
  updatedAt: lastEventAt.toISOString(),
});

/** `/v2/utm-templates`. */
export const createUtmTemplateHandlers = ({ pool, outbox, delivery }: UtmTemplateDeps) => {
  const decisions = createLockedDecisions({ pool, outbox }, utmTemplates, utmTemplateDecider);

  /** Decides a command on a template, and responds when the log has its event. */
  const change = async (
    state: V2State,
    name: string,
    commandOf: (tx: Client) => Promise<Pick<UtmTemplateCommand, 'type' | 'data'>>,
  ): Promise<Reply> => {
    const subject = utmTemplateSubject(state.call.key.account, name);
    const request = { subject, metadata: actorOf(state), commandOf };
    const { decision, state: template, outboxPosition } = await decisions.submit(request);
    if (decision.type === 'refused') return refusals[decision.refusal.type];
    return whenPublished(delivery, outboxPosition, () =>
      template.status === 'saved' ? json(200, viewOf(template)) : noContent(),
    );
  };

  return {
    async getUtmTemplates({ state }) {
      const templates = await readUtmTemplates(pool, state.call.key.account);
      return json(200, { templates: templates.map(viewOf) });
    },

    async saveUtmTemplate({ body, state, parameter }) {
      const name = parseAs(utmTemplateName, parameter('name'));
      if (name.type === 'refused') return name.reply;
      const { account } = state.call.key;
      return change(state, name.value, async (tx) => {
        const count = await countUtmTemplates(tx, account);
        const data = { account, terms: { name: name.value, ...body }, count };
        return { type: 'SaveUtmTemplate', data };
      });
    },

    async deleteUtmTemplate({ state, parameter }) {
      const name = parseAs(utmTemplateName, parameter('name'));
      if (name.type === 'refused') return refusals.notFound;
      const data = { account: state.call.key.account };
      return change(state, name.value, () => Promise.resolve({ type: 'DeleteUtmTemplate', data }));
    },
  } satisfies Partial<V2Handlers>;
};
