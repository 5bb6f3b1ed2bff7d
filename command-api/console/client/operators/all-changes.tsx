import { useLocation } from 'preact-iso/router';
import { formatEventType, formatTime } from '../../format.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { ChangePage } from '../app/types.js';
import { ListPages } from '../components/list-pages.js';
import { richText } from '../components/rich-text.js';
import { Trouble } from '../components/trouble.js';

const text = texts.operators;

type Event = ChangePage['events'][number];

const Entry = ({
  event,
  names,
}: {
  readonly event: Event;
  readonly names: ChangePage['actorNames'];
}) => {
  const { type, subject, time, actor, data } = event;
  return (
    <li class="card">
      <p class="row spread">
        <strong>{formatEventType(type)}</strong>
        <span class="soft">
          {formatTime(time)}
          {actor !== undefined && (
            <>
              {', '}
              {richText(texts.components.by, { actor: <bdi>{names[actor] ?? actor}</bdi> })}
            </>
          )}
        </span>
      </p>
      <p class="soft long">{subject}</p>
      <p class="long">
        <code>{JSON.stringify(data)}</code>
      </p>
    </li>
  );
};

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
          <Entry key={event.id} event={event} names={value.actorNames} />
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
