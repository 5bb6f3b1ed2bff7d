import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface Props {
  /** The text of the button. */
  readonly label: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A panel below its button. Escape and a click elsewhere close it. */
export const Popover = ({ label, children }: Props) => {
  const id = useId();
  return (
    <>
      <button type="button" popovertarget={id}>
        {label} <span aria-hidden="true">▾</span>
      </button>
      <div id={id} popover="auto" class="card stack">
        {children}
      </div>
    </>
  );
};

/** Closes the panel of an element. */
export const closePopover = (element: Element): void => {
  element.closest<HTMLElement>('[popover]')?.hidePopover();
};
