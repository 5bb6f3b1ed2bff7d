/** Downloads a file. */
export const saveFile = (name: string, content: Blob): void => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // By then, the download has started in every browser.
  setTimeout(() => {
    URL.revokeObjectURL(link.href);
  }, 10_000);
};
