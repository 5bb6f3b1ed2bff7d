import { useLocation } from 'preact-iso/router';
import type { ChangePage } from '../../../../schemas/http/operators.js';
import { describeEvent } from '../../history.js';
import { texts } from '../../all-texts.js';
import { useAddressedPage } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { EventEntry } from '../components/history.js';
import { nextPage } from '../components/resource-list.js';
import { ListPages } from '../components/tables.js';
import { Trouble } from '../components/trouble.js';

const text = texts.operators;

/** With the name of a key or a person. */
const subjectOf = (
  { subject }: ChangePage['events'][number],
  { actorNames }: ChangePage,
): string => (Object.hasOwn(actorNames, subject) ? `${actorNames[subject]} (${subject})` : subject);

/** The changes of keys, domains, webhooks, aliases and the platform, newest first. */
export const AllChanges = () => {
  const { query } = useLocation();
  const { value, failure, reload } = useAddressedPage<ChangePage>('/admin/changes');
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
            subject={subjectOf(event, value)}
            actorNames={value.actorNames}
          />
        ))}
      </ol>
      {value && (
        <ListPages
          first={query['after'] === undefined ? null : '/console/changes'}
          next={nextPage('/console/changes', value)}
        />
      )}
    </Page>
  );
};
