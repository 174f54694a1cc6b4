/** Images that a person adds to a message, as data URLs. */

/** What chat models read, and the page's own policy shows. */
export const IMAGE_TYPES: readonly string[] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

interface ReadImages {
  readonly urls: readonly string[];
  /** Names of files that are no such image, or cannot be read. */
  readonly refused: readonly string[];
}

/** The images among some files. */
export async function readImages(files: readonly File[]): Promise<ReadImages> {
  const urls: string[] = [];
  const refused: string[] = [];
  for (const file of files) {
    const url = IMAGE_TYPES.includes(file.type) ? await dataUrlOf(file) : null;
    if (url === null) refused.push(file.name);
    else urls.push(url);
  }
  return { urls, refused };
}

async function dataUrlOf(file: File): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const reader = new FileReader();
  reader.addEventListener("loadend", () => resolve(typeof reader.result === "string" ? reader.result : null));
  reader.readAsDataURL(file);
  return await promise;
}
