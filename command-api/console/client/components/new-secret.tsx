import { CopyButton } from './copy-button.js';
import { Dialog } from './dialog.js';
import { texts } from '../../texts.js';

const text = texts.components;

const secrets = {
  key: { title: text.keepKey, use: text.keyUse, name: text.theKey },
  secret: { title: text.keepSecret, use: text.secretUse, name: text.theSecret },
} as const;

interface Props {
  readonly what?: keyof typeof secrets;
  readonly secret: string;
  readonly onClose: () => void;
}

/** A new key or secret, which cannot be shown again. */
export const NewSecret = ({ what = 'key', secret, onClose }: Props) => (
  <Dialog title={secrets[what].title}>
    <div class="stack">
      <p>
        {text.shownOnce} {secrets[what].use}
      </p>
      <p class="row">
        <code class="long">{secret}</code> <CopyButton text={secret} what={secrets[what].name} />
      </p>
      <button type="button" class="primary" onClick={onClose}>
        {text.kept}
      </button>
    </div>
  </Dialog>
);
