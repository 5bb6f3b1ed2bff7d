import { CopyButton } from './copy-button.js';
import { Dialog } from './dialog.js';

/** A new key, which cannot be shown again. */
export const NewSecret = (props: { readonly secret: string; readonly onClose: () => void }) => (
  <Dialog title="Keep this key">
    <div class="stack">
      <p>It is shown only once. It allows everything that its scopes allow.</p>
      <p class="row">
        <code class="long">{props.secret}</code> <CopyButton text={props.secret} what="the key" />
      </p>
      <button type="button" class="primary" onClick={props.onClose}>
        I have kept it
      </button>
    </div>
  </Dialog>
);
