import { useState } from 'preact/hooks';
import { formatTime } from '../../format.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { useAction, useLoad } from '../app/hooks.js';
import { allEnded } from '../app/session.js';
import { Page } from '../app/shell.js';
import { Confirm } from '../components/confirm.js';
import { Trouble } from '../components/trouble.js';
import type { SessionList } from '../app/types.js';
import { useNotice } from '../components/notice.js';

const text = texts.sessions;

type Session = SessionList['sessions'][number];

const path = '/session/all';

const Row = ({ session, onEnd }: { readonly session: Session; readonly onEnd: () => void }) => {
  const { browser, startedAt, usedAt, isCurrent, actor } = session;
  const name = browser ?? text.unknownBrowser;
  return (
    <li class="row spread">
      <div>
        <p>
          <strong>{name}</strong> {isCurrent && <span class="badge active">{text.current}</span>}{' '}
          <bdi>{actor}</bdi>
        </p>
        <p class="soft">{text.times(formatTime(startedAt), formatTime(usedAt))}</p>
      </div>
      <button type="button" class="small" onClick={onEnd}>
        {text.signOut}
        <span class="unseen"> {name}</span>
      </button>
    </li>
  );
};

/** The sessions of the user of either console, which can be ended. */
const AllSessions = () => {
  const { value, failure, reload } = useLoad(() => callApi<SessionList>(path), '');
  const ending = useAction();
  const { notice, announce } = useNotice();
  const [isConfirming, setConfirming] = useState(false);
  const end = async ({ id, isCurrent }: Session): Promise<void> => {
    const done = await ending.run(() => callApi(`${path}/${id}`, { method: 'DELETE' }));
    if (!done) return;
    if (isCurrent) location.assign('/console');
    else {
      announce(text.signedOut, true);
      reload();
    }
  };
  return (
    <section class="card stack" aria-label={text.title}>
      <div class="row spread">
        <p>{text.intro}</p>
        <button
          type="button"
          class="small danger"
          onClick={() => {
            setConfirming(true);
          }}
        >
          {text.signOutAll}
        </button>
      </div>
      {notice}
      <Trouble failure={failure} onRetry={reload} />
      <Trouble failure={ending.failure} />
      <ul class="plain stack">
        {value?.sessions.map((session) => (
          <Row key={session.id} session={session} onEnd={() => void end(session)} />
        ))}
      </ul>
      {isConfirming && (
        <Confirm
          title={text.signOutAllTitle}
          verb={text.signOutAll}
          call={() => callApi(path, { method: 'DELETE' })}
          onDone={() => {
            location.assign(`/console${allEnded}`);
          }}
          onClose={() => {
            setConfirming(false);
          }}
        >
          <p>{text.signOutAllText}</p>
        </Confirm>
      )}
    </section>
  );
};

/** The sessions of the key, or of all operators. */
export const Sessions = () => (
  <Page title={text.title}>
    <AllSessions />
  </Page>
);
