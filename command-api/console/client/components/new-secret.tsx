import { CopyButton } from './copy-button.js';
import { Dialog } from './dialog.js';

const uses = {
  key: 'It allows everything that its scopes allow.',
  secret: 'The receiver verifies the signatures of deliveries with it.',
} as const;

interface Props {
  readonly what?: keyof typeof uses;
  readonly secret: string;
  readonly onClose: () => void;
}

/** A new key or secret, which cannot be shown again. */
export const NewSecret = ({ what = 'key', secret, onClose }: Props) => (
  <Dialog title={`Keep this ${what}`}>
    <div class="stack">
      <p>It is shown only once. {uses[what]}</p>
      <p class="row">
        <code class="long">{secret}</code> <CopyButton text={secret} what={`the ${what}`} />
      </p>
      <button type="button" class="primary" onClick={onClose}>
        I have kept it
      </button>
    </div>
  </Dialog>
);
