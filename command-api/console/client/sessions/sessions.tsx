import type { SessionList } from '../../../../schemas/http/console.js';
import { formatTime } from '../../format.js';
import { texts } from '../../all-texts.js';
import { callApi } from '../app/api.js';
import { useApi } from '../app/hooks.js';
import { allEnded } from '../app/session.js';
import { Page } from '../app/shell.js';
import { question, useActions, type Action } from '../components/actions.js';
import { ResourceList, type Description } from '../components/resource-list.js';

const { common, sessions: text } = texts;

const path = '/session/all';

const signOutAll: Action = {
  verb: text.signOutAll,
  isDanger: true,
  ...question(text.signOutAllTitle, <p>{text.signOutAllText}</p>),
  call: () => callApi(path, { method: 'DELETE' }),
  onDone: () => location.assign(`/console${allEnded}`),
};

const signOutOthers = (others: SessionList['sessions']): Action => ({
  verb: text.signOutOthers,
  ...question(text.signOutOthers, <p>{text.signOutOthersText}</p>),
  call: async () => {
    for (const { id } of others) {
      const ended = await callApi(`${path}/${id}`, { method: 'DELETE' });
      // It may have ended since.
      if (!ended.ok && !(ended.failure.kind === 'refused' && ended.failure.status === 404))
        return ended;
    }
    return { ok: true, status: 204, value: null };
  },
});

const describe = (session: SessionList['sessions'][number]): Description => {
  const { id, browser, startedAt, usedAt, isCurrent, actor } = session;
  const name = browser ?? text.unknownBrowser;
  return {
    id,
    name,
    heading: (
      <p>
        <strong>{name}</strong> {isCurrent && <span class="badge active">{text.current}</span>}{' '}
        <bdi>{actor}</bdi>
      </p>
    ),
    actions: [
      {
        verb: common.signOut,
        unseen: name,
        call: () => callApi(`${path}/${id}`, { method: 'DELETE' }),
        done: text.signedOut,
        isRemoval: true,
        ...(isCurrent && { onDone: (): void => location.assign('/console') }),
      },
    ],
    content: <p class="soft">{text.times(formatTime(startedAt), formatTime(usedAt))}</p>,
  };
};

/** The sessions of the key, or of all operators. */
export const Sessions = () => {
  const loaded = useApi<SessionList>(path);
  const tools = useActions(loaded.reload);
  const others = (loaded.value?.sessions ?? []).filter(({ isCurrent }) => !isCurrent);
  return (
    <Page title={texts.app.sessions}>
      <div class="row spread">
        <p>{text.intro}</p>
        <div class="row">
          {tools.buttons(others.length > 0 ? [signOutOthers(others), signOutAll] : [signOutAll])}
        </div>
      </div>
      <ResourceList
        tools={tools}
        loaded={loaded}
        items={loaded.value?.sessions}
        describe={describe}
      />
    </Page>
  );
};
