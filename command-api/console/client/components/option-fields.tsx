import type { LinkDetails } from '../../../../schemas/http/links.js';
import { texts } from '../../all-texts.js';
import { Check, Input, Select, TextArea, UrlInput } from './field.js';

const { options: text, values } = texts;
const names = values.fields;

const statuses = [
  ['', text.usual],
  ['301', text.permanent(301)],
  ...['302', '303', '307'].map((status) => [status, status] as const),
  ['308', text.permanent(308)],
] as const;

/** The fields that `option-form.ts` reads. @param link absent for a new link */
export const OptionFields = ({ link }: { readonly link?: LinkDetails }) => (
  <details open={link?.card !== undefined || link?.expiredUrl !== undefined}>
    <summary>{text.options}</summary>
    <div class="stack">
      {(['forwardQuery', 'forwardPath'] as const).map((name) => (
        <Check key={name} name={name} defaultChecked={link?.[name] ?? false} label={names[name]} />
      ))}
      <div class="columns">
        <Select
          label={names.redirectStatus}
          name="redirectStatus"
          value={String(link?.redirectStatus ?? '')}
          options={statuses}
          hint={text.statusHint}
        />
        <UrlInput
          label={names.expiredUrl}
          name="expiredUrl"
          defaultValue={link?.expiredUrl ?? ''}
          hint={text.expiredUrlHint}
        />
      </div>
      <fieldset class="stack">
        <legend>{names.card}</legend>
        <p class="hint">{text.cardHint}</p>
        <div class="columns">
          <Input
            label={text.cardTitle}
            name="cardTitle"
            maxLength={200}
            defaultValue={link?.card?.title ?? ''}
          />
          <UrlInput label={text.image} name="cardImage" defaultValue={link?.card?.image ?? ''} />
        </div>
        <TextArea
          label={names.description}
          name="cardDescription"
          rows={2}
          maxLength={500}
          defaultValue={link?.card?.description ?? ''}
        />
      </fieldset>
    </div>
  </details>
);
