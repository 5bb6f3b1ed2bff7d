import type { LinkDetails } from '../../../../schemas/http/links.js';
import { texts } from '../../texts.js';
import { Check, Input, Select, TextArea } from './field.js';

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
      <Check
        name="forwardQuery"
        defaultChecked={link?.forwardQuery ?? false}
        label={names.forwardQuery}
      />
      <Check
        name="forwardPath"
        defaultChecked={link?.forwardPath ?? false}
        label={names.forwardPath}
      />
      <div class="columns">
        <Select
          label={names.redirectStatus}
          name="redirectStatus"
          value={String(link?.redirectStatus ?? '')}
          options={statuses}
          hint={text.statusHint}
        />
        <Input
          label={names.expiredUrl}
          name="expiredUrl"
          inputMode="url"
          maxLength={2_048}
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
          <Input
            label={text.image}
            name="cardImage"
            inputMode="url"
            maxLength={2_048}
            defaultValue={link?.card?.image ?? ''}
          />
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
