/**
 * The tools of tool servers, in the isolate's memory (docs/rules/tool-loop.md#discovery). A changed server counts as another
 * one: its revision is part of its key. A server that has failed is not called for a short time, so that not every request
 * waits for it.
 */
import type { McpServerRecord } from "../../../../shared/records.ts";
import type { OfferedTool } from "../../../domain/tools/tool-list.ts";

/** How long a list is kept, and how long a failure. */
const LIST_KEPT_MS = 600_000;
const FAILURE_KEPT_MS = 10_000;
const ENTRIES_MAX = 1000;
/** The definitions of all lists together, in characters. */
const CHARACTERS_MAX = 8 * 1024 * 1024;

interface Entry {
  /** Null: the server has failed. */
  readonly tools: readonly OfferedTool[] | null;
  readonly characters: number;
  readonly untilMs: number;
}

export class ToolLists {
  /** The one that was used last is the last one. */
  readonly #entries = new Map<string, Entry>();
  #characters = 0;

  /** The server's tools; null: it failed a short time ago; undefined: not known. */
  get(server: McpServerRecord, nowMs: number): readonly OfferedTool[] | null | undefined {
    const key = keyOf(server);
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#drop(key, entry);
    if (entry.untilMs <= nowMs) return undefined;
    this.#add(key, entry);
    return entry.tools;
  }

  /** Keeps the tools of a server; null: that it has failed. */
  set(server: McpServerRecord, tools: readonly OfferedTool[] | null, nowMs: number): void {
    const key = keyOf(server);
    const before = this.#entries.get(key);
    if (before !== undefined) this.#drop(key, before);
    const characters = (tools ?? []).reduce((sum, tool) => sum + tool.characters, 0);
    this.#add(key, { tools, characters, untilMs: nowMs + (tools === null ? FAILURE_KEPT_MS : LIST_KEPT_MS) });
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= ENTRIES_MAX && this.#characters <= CHARACTERS_MAX) return;
      this.#drop(oldest, entry);
    }
  }

  #add(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
    this.#characters += entry.characters;
  }

  #drop(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#characters -= entry.characters;
  }
}

function keyOf({ id, rev }: McpServerRecord): string {
  return `${id} ${rev}`;
}
