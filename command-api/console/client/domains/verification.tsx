import type { DomainResponse } from '../../../../schemas/http/domains.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { useAction, type Action } from '../app/hooks.js';
import { CopyButton } from '../components/copy-button.js';
import { richText } from '../components/rich-text.js';
import { Trouble } from '../components/trouble.js';

type TxtRecord = NonNullable<DomainResponse['verification']>;

const parts = ['type', 'name', 'value'] as const;
const text = texts.domains;

/** Describes the TXT record that DNS has instead. */
const Found = ({ failure, name }: Pick<Action, 'failure'> & { readonly name: string }) => {
  if (failure?.kind !== 'refused' || failure.found === undefined) return null;
  const { found } = failure;
  return found.length === 0 ? (
    <>{richText(text.noRecord, { name: <code class="long">{name}</code> })}</>
  ) : (
    <>
      {text.found}{' '}
      {found.map((value, index) => (
        <span key={index}>
          {index > 0 && ', '}
          <code class="long">{value}</code>
        </span>
      ))}
    </>
  );
};

/** The TXT record of a claim, and its verification. */
export const Verification = (props: {
  readonly domain: string;
  readonly record: TxtRecord;
  readonly canManage: boolean;
  readonly onVerified: () => void;
}) => {
  const { domain, record, canManage, onVerified } = props;
  const { isBusy, failure, run } = useAction();
  const verify = async (): Promise<void> => {
    const path = `/v2/domains/${domain}/verify`;
    if (await run(() => callApi(path, { method: 'POST' }))) onVerified();
  };
  return (
    <>
      <p>{text.recordHint}</p>
      <dl class="data record">
        {parts.map((part) => (
          <div key={part}>
            <dt>{text.record[part]}</dt>
            <dd class="row">
              <code class="long">{record[part]}</code>{' '}
              <CopyButton text={record[part]} what={text.recordPart[part]} />
            </dd>
          </div>
        ))}
      </dl>
      <Trouble failure={failure}>
        <Found failure={failure} name={record.name} />
      </Trouble>
      {canManage && (
        <button type="button" class="primary" aria-disabled={isBusy} onClick={() => void verify()}>
          {text.verify}
        </button>
      )}
    </>
  );
};
