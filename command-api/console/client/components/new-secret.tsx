import { CopyButton } from './copy-button.js';
import { Dialog } from './dialog.js';
import { texts } from '../../texts.js';

const text = texts.components;

const secrets = {
  key: { title: text.keepKey, use: text.keyUse, name: text.theKey },
  secret: { title: text.keepSecret, use: text.secretUse, name: text.theSecret },
} as const;

interface Props {
  readonly kind?: keyof typeof secrets;
  readonly secret: string;
  readonly onClose: () => void;
}

/** A new key or secret, which cannot be shown again. */
export const NewSecret = ({ kind = 'key', secret, onClose }: Props) => (
  <Dialog title={secrets[kind].title}>
    <div class="stack">
      <p>
        {text.shownOnce} {secrets[kind].use}
      </p>
      <p class="row">
        <code class="long">{secret}</code> <CopyButton text={secret} what={secrets[kind].name} />
      </p>
      <button type="button" class="primary" onClick={onClose}>
        {text.stored}
      </button>
    </div>
  </Dialog>
);
