import type { LinkDetails } from '../../../../schemas/http/links.js';
import { linkPath, subjectOfLink, textOfShortUrl } from '../../link-address.js';
import { texts } from '../../all-texts.js';
import { callApi } from '../app/api.js';
import { fieldsOf } from '../app/hooks.js';
import { useOwner } from '../app/owner.js';
import { question, useActions, type Action } from '../components/actions.js';
import { CopyButton } from '../components/copy-button.js';
import { Input } from '../components/field.js';
import { DomainSelect } from '../components/own-domains.js';

const { common, link: text } = texts;

interface Props {
  readonly link: LinkDetails;
  readonly onChanged: () => void;
}

/** The further codes of a link. */
export const Codes = ({ link, onChanged }: Props) => {
  const { shortUrlHost } = useOwner();
  const tools = useActions(onChanged);
  const removal = (code: string): Action => ({
    verb: common.delete,
    unseen: code,
    ...{ isDanger: true, isRemoval: true },
    ...question(text.deleteCode(code), <p>{text.deleteCodeWarning}</p>),
    call: () =>
      callApi(linkPath('/v2/links', link, `/codes/${encodeURIComponent(code)}`), {
        method: 'DELETE',
      }),
  });
  return (
    <details class="card" open={link.codes !== undefined}>
      <summary>{text.codes}</summary>
      <div class="stack">
        <p class="hint">{text.codesHint}</p>
        {tools.feedback}
        {link.codes && (
          <ul class="stack">
            {link.codes.map(({ code: shortCode, domain, shortUrl }) => (
              <li key={shortUrl} class="row">
                <a class="clip" href={shortUrl} target="_blank" rel="noreferrer">
                  {textOfShortUrl(shortUrl)}
                </a>
                <CopyButton text={shortUrl} what={texts.components.theShortLink} />
                {tools.buttons([removal(subjectOfLink({ shortCode, domain }))])}
              </li>
            ))}
          </ul>
        )}
        {tools.form({
          verb: text.addCode,
          dialog: {
            title: text.addCode,
            content: (
              <>
                <Input label={common.alias} name="alias" required minLength={3} maxLength={50} />
                <DomainSelect name="domain" none={new URL(shortUrlHost).host} />
              </>
            ),
          },
          call: (data) =>
            callApi(linkPath('/v2/links', link, '/codes'), {
              method: 'POST',
              body: fieldsOf(data),
            }),
        })}
        {tools.dialogs}
      </div>
    </details>
  );
};
