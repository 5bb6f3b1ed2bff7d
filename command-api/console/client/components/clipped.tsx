/** Texts in one line. What does not fit is cut, and the whole text is shown to the pointer. */

/** The characters at the end of a URL that are always visible. */
const endLength = 14;

/** A URL that is cut in the middle: its host and its end are visible. */
export const ClippedUrl = ({ url }: { readonly url: string }) => {
  const characters = Array.from(url);
  return (
    <bdi class="middle" dir="ltr">
      <span>{characters.slice(0, -endLength).join('')}</span>
      <span>{characters.slice(-endLength).join('')}</span>
    </bdi>
  );
};

document.addEventListener('pointerover', ({ target }) => {
  const clipped = target instanceof Element ? target.closest<HTMLElement>('.middle, .clip') : null;
  if (clipped) clipped.title = clipped.textContent;
});
