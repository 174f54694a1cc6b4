/** The switches of the assistant's tools, by what they are about (docs/rules/assistant.md#tools). Pure. */
import type { AssistantState } from "../../../shared/wire/assistant.ts";

/** What settings keep: a tool that is not named is on. */
export type Switches = Readonly<Record<string, boolean>>;
type Tool = AssistantState["tools"][number];

/** Tools about one resource of the API. */
export interface ToolGroup {
  /** The page that they are about, such as `tenants`; empty: tools that no longer exist. */
  readonly resource: string;
  readonly tools: readonly Pick<Tool, "name" | "title" | "writes">[];
}

const RESOURCE = /^\/api\/v1\/([^/]+)/;

/** The page of what has none of its own, by the first part of the path. */
const PAGES: Readonly<Record<string, string>> = {
  "group-grants": "users",
  invitations: "users",
  jobsched: "settings",
  managed: "deployments",
  replicas: "deployments",
  resync: "settings",
  rotation: "settings",
  stats: "overview",
};

/** The tools by page, in the order of their first ones; last those that are kept as off and that nobody knows. */
export function toolGroups(tools: readonly Tool[], switches: Switches): readonly ToolGroup[] {
  const groups = new Map<string, Tool[]>();
  for (const tool of tools) {
    const first = RESOURCE.exec(tool.path)?.[1] ?? tool.path;
    const resource = PAGES[first] ?? first;
    const group = groups.get(resource);
    if (group === undefined) groups.set(resource, [tool]);
    else group.push(tool);
  }
  const known = new Set(tools.map(({ name }) => name));
  const unknown = Object.keys(switches).filter((name) => !known.has(name) && !isOn(switches, name));
  return [
    ...[...groups].map(([resource, own]) => ({ resource, tools: own })),
    ...(unknown.length === 0
      ? []
      : [{ resource: "", tools: unknown.map((name) => ({ name, title: name, writes: false })) }]),
  ];
}

/** Whether a tool may be used. */
export function isOn(switches: Switches, name: string): boolean {
  return !Object.hasOwn(switches, name) || switches[name] !== false;
}

/** The switches with some tools on or off; what is on is not named. */
export function switched(switches: Switches, names: readonly string[], isNowOn: boolean): Switches {
  const changed = new Set(names);
  return Object.fromEntries([
    ...Object.entries(switches).filter(([name]) => !changed.has(name)),
    ...(isNowOn ? [] : names.map((name) => [name, false] as const)),
  ]);
}
