/**
 * Asks for all files of a part at once. A part names the files that it imports in its own text, so a browser would learn of them
 * only when it has the part: one more round trip for each page. The build knows them, and puts a call of this before every
 * import of a part (infra/console/parts-ahead.ts).
 */

/** Asks for files of the build by their names, each once. What cannot be loaded is told by the import that needs it. */
function partsAhead(...names: readonly string[]): void {
  for (const name of names) {
    const href = `/assets/${name}`;
    if (document.querySelector(`link[href="${href}"]`) !== null) continue;
    const link = document.createElement("link");
    link.rel = "modulepreload";
    link.nonce = document.querySelector<HTMLScriptElement>("script[nonce]")?.nonce ?? "";
    link.href = href;
    document.head.append(link);
  }
}

/** Must run before the first part is imported. */
export function installPartsAhead(): void {
  Object.assign(globalThis, { partsAhead });
}
