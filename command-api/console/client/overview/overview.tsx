import { formatDay } from '../../format.js';
import { callApi } from '../app/api.js';
import { useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { UsageResponse } from '../app/types.js';
import { Meter } from '../components/meter.js';
import { Trouble } from '../components/trouble.js';

const atLimit = {
  calls: 'At the limit, API calls answer 429 until the reset. Links go on redirecting.',
  links: 'At the limit, no more links are made until the reset. Links go on redirecting.',
  qrCodes: 'At the limit, no more QR codes are made until the reset. Those in use go on working.',
} as const;

const Quotas = () => {
  const { value, failure, reload } = useLoad(() => callApi<UsageResponse>('/v2/usage'), '');
  return (
    <section aria-labelledby="quotas">
      <div class="row spread">
        <h2 id="quotas">This month</h2>
        {value && (
          <p class="soft">
            Plan {value.plan}, reset on {formatDay(value.resetDate)}
          </p>
        )}
      </div>
      <Trouble failure={failure} onRetry={reload} />
      {value && (
        <div class="columns">
          <Meter label="API calls" {...value.calls} atLimit={atLimit.calls} />
          <Meter label="Links" {...value.links} atLimit={atLimit.links} />
          <Meter label="QR codes" {...value.qrCodes} atLimit={atLimit.qrCodes} />
        </div>
      )}
    </section>
  );
};

/** What is left of the month. */
export const Overview = () => (
  <Page
    title="Overview"
    aside={
      <a class="button primary" href="/console/new">
        New link
      </a>
    }
  >
    <Quotas />
  </Page>
);
