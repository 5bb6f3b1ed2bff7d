import { useLocation } from 'preact-iso/router';
import { describeEvent } from '../../history.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { ChangePage } from '../app/types.js';
import { EventEntry } from '../components/event-entry.js';
import { ListPages } from '../components/list-pages.js';
import { Trouble } from '../components/trouble.js';

const text = texts.operators;

/** The changes of keys, domains, webhooks, aliases and the platform, newest first. */
export const AllChanges = () => {
  const { query } = useLocation();
  const { after = '' } = query;
  const path = `/admin/changes?${new URLSearchParams(query).toString()}`;
  const { value, failure, reload } = useLoad(() => callApi<ChangePage>(path), path);
  return (
    <Page title={texts.app.changes}>
      <Trouble failure={failure} onRetry={reload} />
      <p class="soft">{text.changesHint}</p>
      {value?.events.length === 0 && <p>{text.noChanges}</p>}
      <ol class="history">
        {value?.events.map((event) => (
          <EventEntry
            key={event.id}
            entry={describeEvent(event)}
            subject={event.subject}
            actorNames={value.actorNames}
          />
        ))}
      </ol>
      {value && (
        <ListPages
          first={after === '' ? null : '/console/changes'}
          next={value.next === null ? null : `/console/changes?after=${value.next}`}
        />
      )}
    </Page>
  );
};
