import { formatDate, formatEventType, formatTime } from '../../format.js';
import { formatNumber } from '../../numbers.js';
import type { Webhook } from '../app/types.js';

/** What a webhook receives, and its progress. */
export const WebhookSummary = ({ webhook }: { readonly webhook: Webhook }) => {
  const { types, domain, disabledReason, lag, lastDelivery, createdAt } = webhook;
  return (
    <>
      {disabledReason !== null && <p class="bad">Disabled: {disabledReason}.</p>}
      <p>
        {types === null ? (
          <span class="tag">All events but visits</span>
        ) : (
          types.map((type) => (
            <span key={type} class="tag">
              {formatEventType(type)}
            </span>
          ))
        )}
        {domain !== null && <span class="badge">only {domain}</span>}
      </p>
      <p class="soft">
        {lag === 1 ? 'One event waits' : `${formatNumber(lag)} events wait`}.{' '}
        {lastDelivery === null
          ? 'No delivery yet.'
          : `Last delivery ${formatTime(lastDelivery.at)}: ${lastDelivery.status}.`}{' '}
        Made {formatDate(createdAt)}.
      </p>
    </>
  );
};
