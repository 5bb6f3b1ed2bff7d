import { useEffect, useState } from 'preact/hooks';
import { texts } from '../../texts.js';

/** Replaces `navigator.clipboard`, which is only available on https and localhost. */
const copyBySelection = (text: string): boolean => {
  const area = document.createElement('textarea');
  area.value = text;
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  // oxlint-disable-next-line typescript/no-deprecated -- nothing else works on plain http
  const isCopied = document.execCommand('copy');
  area.remove();
  return isCopied;
};

const copy = async (text: string): Promise<boolean> => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Not available, or not allowed.
    return copyBySelection(text);
  }
};

const notes = texts.components;

interface Props {
  readonly text: string;
  /** The copied thing, for screen readers. */
  readonly what: string;
  /** Whether the button has an icon instead of a text. */
  readonly isIcon?: boolean;
}

export const CopyButton = ({ text, what, isIcon = false }: Props) => {
  const [note, setNote] = useState('');
  useEffect(() => {
    if (note === '') return undefined;
    const timer = setTimeout(() => setNote(''), 2_000);
    return () => clearTimeout(timer);
  }, [note]);
  return (
    <button
      type="button"
      class={isIcon ? `quiet copy ${note && 'done'}` : 'small'}
      onClick={() => {
        void copy(text).then((isCopied) => setNote(isCopied ? notes.copied : notes.notCopied));
      }}
    >
      <span class={isIcon ? 'unseen' : ''} aria-live="polite">
        {note || notes.copy}
      </span>{' '}
      <span class="unseen">{what}</span>
    </button>
  );
};
