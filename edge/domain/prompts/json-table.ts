/**
 * JSON in fewer characters, without changing a value (docs/rules/compression.md#json): arrays of objects become tables,
 * whitespace goes. The result is read back and compared before it is used; scalars are copied as they were written.
 */
import type { Steps } from "../../../shared/steps.ts";
import { type JsonNode, NODE_UNITS, readJsonTree, sameTree } from "./json-tree.ts";

/** About the length of the line `[table <k> rows=<n>]` and of the cell that refers to it, in characters. */
const TABLE_COST = 22;
const TABLE_HEAD = /^\[table (?:(\d+) )?rows=(\d+)\]$/;
/** The meaning of a cell that is not a text without quotes. */
const CELL_VALUE = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;

type ObjectNode = Extract<JsonNode, { kind: "object" }>;

interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly ObjectNode[];
}

/** The value of a JSON text in fewer characters; null: the text stays as it is (not JSON, or not shorter). */
export function* compactJsonText(text: string): Steps<string | null> {
  const tree = yield* readJsonTree(text);
  if (tree === null || tree.kind === "scalar") return null;
  const written = [yield* new TreeWriter(true).write(tree), yield* new TreeWriter(false).write(tree)];
  const compacted = written.sort((one, other) => one.length - other.length)[0];
  if (compacted === undefined || compacted.length >= text.length) return null;
  const back = yield* reconstructTree(compacted);
  return back !== null && (yield* sameTree(tree, back)) ? compacted : null;
}

/**
 * The minified JSON of a text that {@link compactJsonText} has made; null: it did not make this text.
 * @exported Tests prove with it that compression changes no value.
 */
export function* reconstructJson(compacted: string): Steps<string | null> {
  const tree = yield* reconstructTree(compacted);
  return tree === null ? null : yield* new TreeWriter(false).write(tree);
}

class TreeWriter {
  readonly #tables: boolean;
  /** Numbered tables, in the order in which they are written. The number is the position here, from 1. */
  readonly #blocks: Table[] = [];

  constructor(tables: boolean) {
    this.#tables = tables;
  }

  *write(root: JsonNode): Steps<string> {
    const table = yield* this.#tableOf(root);
    const head = `[table rows=${table?.rows.length}]`;
    const lines: string[] = [];
    if (table === null) lines.push(yield* this.#inline(root));
    else yield* this.#table(table, head, lines);
    // tables inside a table are appended while its rows are written
    for (let at = 0; at < this.#blocks.length; at += 1) {
      const block = this.#blocks[at];
      if (block !== undefined) yield* this.#table(block, `[table ${at + 1} rows=${block.rows.length}]`, lines);
    }
    return lines.join("\n");
  }

  *#tableOf(node: JsonNode): Steps<Table | null> {
    return this.#tables && node.kind === "array" ? yield* tableOf(node.items) : null;
  }

  *#table({ columns, rows }: Table, head: string, lines: string[]): Steps<void> {
    lines.push(head, columns.map(headerCell).join(","));
    for (const { members } of rows) {
      const cells: string[] = [];
      for (const column of columns) cells.push(yield* this.#cell(members.get(column)));
      lines.push(cells.join(","));
    }
  }

  *#cell(node: JsonNode | undefined): Steps<string> {
    yield NODE_UNITS;
    if (node === undefined) return "";
    if (node.kind === "scalar" && isBare(node.raw)) return node.raw.slice(1, -1);
    return quoted(yield* this.#inline(node));
  }

  *#inline(node: JsonNode): Steps<string> {
    yield NODE_UNITS;
    if (node.kind === "scalar") return node.raw;
    const table = yield* this.#tableOf(node);
    if (table !== null) return `@${this.#blocks.push(table)}`;
    const parts: string[] = [];
    if (node.kind === "array") {
      for (const item of node.items) parts.push(yield* this.#inline(item));
      return `[${parts.join(",")}]`;
    }
    for (const [name, member] of node.members) parts.push(`${JSON.stringify(name)}:${yield* this.#inline(member)}`);
    return `{${parts.join(",")}}`;
  }
}

/** The table of an array: at least two objects, and fewer characters than the array takes. Null: it stays an array. */
function* tableOf(items: readonly JsonNode[]): Steps<Table | null> {
  const rows = items.filter((item) => item.kind === "object");
  if (items.length < 2 || rows.length < items.length) return null;
  const columns = new Set<string>();
  let members = 0;
  let names = 0;
  for (const row of rows) {
    yield row.members.size * NODE_UNITS;
    for (const name of row.members.keys()) {
      columns.add(name);
      members += 1;
      names += name.length + 3;
    }
  }
  const absent = rows.length * columns.size - members;
  // at least half of the cells are filled: rows of ever different names would make a table without end
  if (columns.size === 0 || absent > members) return null;
  const header = [...columns].reduce((sum, name) => sum + name.length + 1, TABLE_COST);
  return names + 2 * rows.length > header + absent ? { columns: [...columns].sort(), rows } : null;
}

/** Whether a string is unambiguous without its quotes. */
function isBare(raw: string): boolean {
  if (!raw.startsWith('"') || raw.length < 3) return false;
  const text = raw.slice(1, -1);
  return isBareText(text) && !CELL_VALUE.test(text) && !/^[@[{]/.test(text);
}

function isBareText(text: string): boolean {
  return text !== "" && !/[,"\\]/.test(text) && text.trim() === text;
}

function headerCell(name: string): string {
  const json = JSON.stringify(name);
  return isBareText(name) && json === `"${name}"` ? name : quoted(json);
}

/** As RFC 4180 section 2 quotes a field. */
function quoted(cell: string): string {
  return /[,"]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

function* reconstructTree(compacted: string): Steps<JsonNode | null> {
  const lines = compacted.split("\n");
  const first = lines[0] ?? "";
  const rootIsTable = TABLE_HEAD.exec(first)?.[1] === undefined && TABLE_HEAD.test(first);
  const tables: (readonly string[])[] = [];
  let at = rootIsTable ? 0 : 1;
  while (at < lines.length) {
    const head = TABLE_HEAD.exec(lines[at] ?? "");
    if (head === null) return null;
    const end = at + 2 + Number(head[2]);
    if (end > lines.length) return null;
    tables.push(lines.slice(at + 1, end));
    at = end;
  }
  // a table refers to later ones only
  const nodes = new Map<number, JsonNode>();
  const reference = (block: number): JsonNode | undefined => nodes.get(block);
  const offset = rootIsTable ? 0 : 1;
  for (let index = tables.length - 1; index >= 0; index -= 1) {
    const node = yield* arrayOf(tables[index] ?? [], reference);
    if (node === null) return null;
    nodes.set(index + offset, node);
  }
  return rootIsTable ? (nodes.get(0) ?? null) : yield* readJsonTree(first, reference);
}

function* arrayOf(
  lines: readonly string[],
  reference: (block: number) => JsonNode | undefined,
): Steps<JsonNode | null> {
  const [header = "", ...rows] = lines;
  const columns: string[] = [];
  for (const cell of yield* cellsOf(header)) columns.push(cell.quoted ? (JSON.parse(cell.text) as string) : cell.text);
  const items: JsonNode[] = [];
  for (const row of rows) {
    const members = new Map<string, JsonNode>();
    const cells = yield* cellsOf(row);
    for (const [index, column] of columns.entries()) {
      const cell = cells[index];
      if (cell === undefined) return null;
      if (cell.text === "") continue;
      const node = yield* readJsonTree(cell.text, reference);
      if (node === null && cell.quoted) return null;
      members.set(column, node ?? { kind: "scalar", raw: `"${cell.text}"` });
    }
    items.push({ kind: "object", members });
  }
  return { kind: "array", items };
}

/** The cells of a line; a quoted one without its quotes. */
function* cellsOf(line: string): Steps<readonly { readonly text: string; readonly quoted: boolean }[]> {
  const cells: { readonly text: string; readonly quoted: boolean }[] = [];
  let at = 0;
  do {
    yield NODE_UNITS;
    if (line[at] === '"') {
      const end = closingQuote(line, at + 1);
      cells.push({ text: line.slice(at + 1, end).replaceAll('""', '"'), quoted: true });
      at = end + 2;
    } else {
      const comma = line.indexOf(",", at);
      const end = comma === -1 ? line.length : comma;
      cells.push({ text: line.slice(at, end), quoted: false });
      at = end + 1;
    }
  } while (at <= line.length);
  return cells;
}

/** Where the first quote is that is not doubled; the line's end without one. */
function closingQuote(line: string, start: number): number {
  let at = line.indexOf('"', start);
  while (at !== -1 && line[at + 1] === '"') at = line.indexOf('"', at + 2);
  return at === -1 ? line.length : at;
}
