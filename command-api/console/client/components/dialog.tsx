import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { texts } from '../../texts.js';

interface Props {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Absent: the user cannot close the dialog. */
  readonly onClose?: () => void;
}

/** A modal dialog, open while it is mounted. Then its opener gets the focus again. */
export const Dialog = ({ title, children, onClose }: Props) => {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const opener = document.activeElement;
    const element = dialog.current;
    element?.showModal();
    // The browser would focus the button that closes the dialog, and Enter would discard what was typed.
    element?.querySelector<HTMLElement>('input, select, textarea')?.focus();
    return () => {
      element?.close();
      // The browser does not restore the focus when the dialog is already removed.
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
    >
      <div class="row spread">
        <h2 id={titleId}>{title}</h2>
        {onClose && (
          <button type="button" class="quiet" aria-label={texts.components.close} onClick={onClose}>
            ✕
          </button>
        )}
      </div>
      {children}
    </dialog>
  );
};
