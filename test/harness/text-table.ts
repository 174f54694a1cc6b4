/** Tables as text: the first column stands at the left of its width, the others at the right. */
type Rows = readonly (readonly (string | number)[])[];

function widthsOf(rows: Rows): readonly number[] {
  return (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => `${row[at] ?? ""}`.length)));
}

const padded = (row: Rows[number], widths: readonly number[]): readonly string[] =>
  widths.map((width, at) => (at === 0 ? `${row[at] ?? ""}`.padEnd(width) : `${row[at] ?? ""}`.padStart(width)));

export function plainTable(rows: Rows): string {
  const widths = widthsOf(rows);
  return rows.map((row) => padded(row, widths).join("  ")).join("\n");
}

export function markdownTable(head: Rows[number], rows: Rows): string {
  const widths = widthsOf([head, ...rows]);
  const rule = widths.map((width, at) => (at === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [head, rule, ...rows].map((row) => `| ${padded(row, widths).join(" | ")} |`).join("\n");
}
