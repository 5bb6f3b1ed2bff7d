import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

interface Props {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Where it is missing, the dialog stays until what it contains is done. */
  readonly onClose?: () => void;
}

/** Is open as long as it is there. The browser keeps the focus in it, and gives it back. */
export const Dialog = ({ title, children, onClose }: Props) => {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
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
      <header class="row spread">
        <h2 id={titleId}>{title}</h2>
        {onClose && (
          <button type="button" class="quiet" aria-label="Close" onClick={onClose}>
            ✕
          </button>
        )}
      </header>
      {children}
    </dialog>
  );
};
