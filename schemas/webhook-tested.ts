import { z } from 'zod';
import { ledgerSource, writeSequence } from './events/envelope.js';

/** Only `POST /v2/webhooks/:id/test` delivers it. The log never has it, so the catalogue does not list it. */
export const webhookTestedType = 'linklog.WebhookTested.v1';

export const webhookTestedData = z.strictObject({});

/** The CloudEvent of a test delivery, in its JSON form. @param id a new UUID */
export const webhookTested = ({
  id,
  webhookId,
  account,
  time,
}: {
  readonly id: string;
  readonly webhookId: string;
  readonly account: string;
  readonly time: Date;
}): object => ({
  specversion: '1.0',
  id,
  type: webhookTestedType,
  source: ledgerSource,
  subject: webhookId,
  time: time.toISOString(),
  datacontenttype: 'application/json',
  sequence: writeSequence(1),
  account,
  data: {} satisfies z.output<typeof webhookTestedData>,
});
