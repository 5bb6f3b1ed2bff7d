import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { LinkDetails } from '../../../../schemas/http/links.js';
import type { TagPage } from '../../../../schemas/http/tags.js';
import { withQuery } from '../../link-address.js';
import { texts } from '../../all-texts.js';
import { callApi } from '../app/api.js';
import { useScope } from '../app/owner.js';
import { Input, TextArea } from './field.js';

const { common, link: text, values } = texts;

/** The pause in typing after which suggestions are requested (ms). */
const pauseMs = 200;

interface TagInputProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly name: string;
  readonly defaultValue?: string;
  readonly required?: boolean;
}

/** A comma-separated list of tags, with suggestions for the last one. */
export const TagInput = (props: TagInputProps) => {
  // Operators have no list of tags.
  const isSuggesting = useScope('links:read');
  const list = useId();
  const timer = useRef(0);
  const request = useRef(0);
  const [suggestions, setSuggestions] = useState<readonly string[]>([]);
  useEffect(() => () => clearTimeout(timer.current), []);

  const suggest = async (text: string): Promise<void> => {
    const start = text.slice(0, text.lastIndexOf(',') + 1);
    const search = text.slice(start.length).trim();
    request.current += 1;
    const own = request.current;
    const found = await callApi<TagPage>(withQuery('/v2/tags', { limit: '10', search }));
    // Suggestions are a convenience: without them, the field works like any other.
    if (!found.ok || own !== request.current) return;
    setSuggestions(found.value.tags.map(({ tag }) => (start === '' ? tag : `${start} ${tag}`)));
  };
  const suggestLater = ({ currentTarget: { value } }: { currentTarget: HTMLInputElement }) => {
    if (!isSuggesting) return;
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => void suggest(value), pauseMs);
  };

  return (
    <>
      <Input {...props} type="text" list={list} onFocus={suggestLater} onInput={suggestLater} />
      <datalist id={list}>
        {suggestions.map((tag) => (
          <option key={tag} value={tag} />
        ))}
      </datalist>
    </>
  );
};

interface Props {
  /** Absent for a new link. */
  readonly link?: Pick<LinkDetails, 'title' | 'note' | 'tags'>;
}

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
    <TextArea
      label={values.fields.note}
      name="note"
      rows={3}
      maxLength={2_000}
      defaultValue={link?.note ?? ''}
    />
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
