import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso/router';
import type { ChangePage } from '../../../../schemas/http/operators.js';
import { changeNames, formatEventType } from '../../format.js';
import { describeEvent } from '../../history.js';
import { pageOfSubject, withQuery } from '../../link-address.js';
import { texts } from '../../all-texts.js';
import { fieldsOf, onSubmit, useAddressedPage } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { Input, Select } from '../components/field.js';
import { EventEntry } from '../components/history.js';
import { ListPages } from '../components/tables.js';
import { Trouble } from '../components/trouble.js';
import { AccountInput } from './account-input.js';

const { common, operators: text } = texts;

/** With the name of a key or a person. */
const subjectOf = (
  { subject, type }: ChangePage['events'][number],
  { actorNames }: ChangePage,
): ComponentChildren => {
  if (type.startsWith('linklog.Link')) {
    return <a href={pageOfSubject(subject)}>{subject}</a>;
  }
  return Object.hasOwn(actorNames, subject) ? `${actorNames[subject]} (${subject})` : subject;
};

/** The changes of accounts and the platform, and of links by operators, newest first. */
export const AllChanges = () => {
  const { query, route } = useLocation();
  const { value, failure, reload } = useAddressedPage<ChangePage>('/admin/changes');
  const { account = '', actor = '', type = '', after } = query;
  const list = (parameters: Readonly<Record<string, string>>): string =>
    withQuery('/console/changes', parameters);
  const isEmpty = value?.events.length === 0;
  const submit = onSubmit((form) => {
    const { account = '', actor = '', type = '' } = fieldsOf(form);
    route(list({ account, actor, type }));
    return undefined;
  });
  return (
    <Page title={texts.app.changes}>
      <form key={list(query)} class="picker" onSubmit={submit}>
        <AccountInput defaultValue={account} />
        <Input label={text.changedBy} name="actor" maxLength={500} defaultValue={actor} />
        <Select
          label={text.kindOfChange}
          name="type"
          value={type}
          options={[
            ['', texts.webhooks.filters.all],
            ...changeNames.map((name) => [name, formatEventType(name)] as const),
          ]}
        />
        <button>{common.search}</button>
      </form>
      <Trouble failure={failure} onRetry={reload} />
      <p class="soft">{text.changesHint}</p>
      {isEmpty && value.next === null && <p>{text.noChanges}</p>}
      <ol class="history">
        {value?.events.map((event) => (
          <EventEntry
            key={event.id}
            entry={describeEvent(event, value.earlier[event.id])}
            subject={subjectOf(event, value)}
            actorNames={value.actorNames}
          />
        ))}
      </ol>
      {value && (
        <ListPages
          first={after === undefined ? null : list({ account, actor, type })}
          next={value.next === null ? null : list({ account, actor, type, after: value.next })}
          isEmpty={isEmpty}
        />
      )}
    </Page>
  );
};
