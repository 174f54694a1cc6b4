/** Pages of docs/reference as Markdown: the head that says where they come from, tables, links. Pure. */

/** The first lines of a page. `from`: the files of its catalogue. */
export function pageHead(title: string, intro: string, from: readonly string[]): string {
  const sources = from.map((path) => `\`${path}\``).join(", ");
  return `# ${title}\n\n_Written by \`npm run reference\` from ${sources}: change it there._\n\n${linked(intro)}\n`;
}

/** Catalogues write links from the root of the repository; a page is in docs/reference. */
export function linked(text: string): string {
  return text.replaceAll("](docs/reference/", "](").replaceAll("](docs/", "](../");
}

/** A table. Its columns are not aligned, so that a changed row is a changed line and no more. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (row: readonly string[]): string => `| ${row.join(" | ")} |`;
  const cells = rows.map((row) => row.map((cell) => linked(cell).replaceAll("|", "\\|")));
  return [line(head), line(head.map(() => "---")), ...cells.map(line)].join("\n");
}
