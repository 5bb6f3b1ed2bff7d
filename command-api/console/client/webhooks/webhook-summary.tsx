import type { WebhookResponse } from '../../../../schemas/http/webhooks.js';
import { formatDate, formatEventType, formatTime } from '../../format.js';
import { texts } from '../../texts.js';

const text = texts.webhooks;

/** What a webhook receives, and its progress. */
export const WebhookSummary = ({ webhook }: { readonly webhook: WebhookResponse }) => {
  const { types, domain, disabledReason, lag, lastDelivery, createdAt } = webhook;
  return (
    <>
      {disabledReason !== null && <p class="bad">{text.disabledReason(disabledReason)}</p>}
      <p>
        {types === null ? (
          <span class="tag">{text.allButVisits}</span>
        ) : (
          types.map((type) => (
            <span key={type} class="tag">
              {formatEventType(type)}
            </span>
          ))
        )}
        {domain !== null && <span class="badge">{text.onlyDomain(domain)}</span>}
      </p>
      <p class="soft">
        {text.lag(lag)}{' '}
        {lastDelivery === null
          ? text.noDelivery
          : text.lastDelivery(
              formatTime(lastDelivery.at),
              text.deliveryStatus[lastDelivery.status],
            )}{' '}
        {text.createdOn(formatDate(createdAt))}
      </p>
    </>
  );
};
