/** Gives a file to the person, as a download. */
export const saveFile = (name: string, content: Blob): void => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The download has begun by then in every browser.
  setTimeout(() => {
    URL.revokeObjectURL(link.href);
  }, 10_000);
};
