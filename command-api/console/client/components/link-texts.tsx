import type { LinkDetails } from '../../../../schemas/http/links.js';
import { Field, Input } from './field.js';
import { TagInput } from './tag-input.js';
import { texts } from '../../texts.js';

const { common, components: text } = texts;

interface Props {
  /** Absent for a new link. */
  readonly link?: Pick<LinkDetails, 'title' | 'note' | 'tags'>;
}

/** The texts of a link that only its owner sees. */
export const LinkTexts = ({ link }: Props) => (
  <>
    <div class="columns">
      <Input
        label={common.title}
        name="title"
        maxLength={200}
        defaultValue={link?.title ?? ''}
        hint={text.titleHint}
      />
      <Tags value={link?.tags.join(', ') ?? ''} />
    </div>
    <Field label={text.note}>
      {(control) => (
        <textarea
          {...control}
          name="note"
          rows={3}
          maxLength={2_000}
          defaultValue={link?.note ?? ''}
        />
      )}
    </Field>
  </>
);

interface TagsProps {
  readonly value?: string;
  readonly hint?: string;
  readonly required?: boolean;
}

/** Tags as `splitTags` reads them. */
export const Tags = ({ value = '', hint = '', required = false }: TagsProps) => (
  <TagInput
    label={common.tags}
    name="tags"
    defaultValue={value}
    required={required}
    hint={`${hint} ${text.tagsHint}`.trim()}
  />
);
