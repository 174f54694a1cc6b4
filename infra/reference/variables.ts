/** docs/reference/variables.md, from the schemas with which each part reads its variables. Pure. */
import type { z } from "zod";
import { standaloneVariables } from "../../control/dashboard/env.ts";
import { controlVariables } from "../../control/env.ts";
import { buildVariables } from "../../control/kernel/build-info.ts";
import { loneProvisionerVariables } from "../../control/provisioner/provisioner-env.ts";
import { workerVariables } from "../../edge/env.ts";
import { CLUSTER_PATIENCE_SECS, clusterVariables } from "../local/cluster.ts";
import { launcherVariables } from "../local/env.ts";
import { STACK_DEFAULTS } from "../local/runtime.ts";
import { pageHead, table } from "./markdown.ts";

const STACK = "`npm start`";

type Shape = Readonly<Record<string, z.ZodType>>;

/** A part, and the variables that it reads. The first part that has a variable states its default. */
export const VARIABLES_OF_PARTS: readonly (readonly [string, Shape])[] = [
  ["Worker", workerVariables],
  ["control service", { ...controlVariables, ...buildVariables }],
  ["console", standaloneVariables],
  ["provisioner", loneProvisionerVariables],
  [STACK, { ...launcherVariables, ...clusterVariables }],
];

/** What `npm start` sets for the parts when no variable does. */
const OF_STACK: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(STACK_DEFAULTS).map(([name, value]) => [name, `\`${value}\``])),
  GATEWAY_ADMISSION_PATIENCE_SECS: `\`${CLUSTER_PATIENCE_SECS}\` in a cluster`,
  DASHBOARD_PASSWORD: "generated and kept in the data folder",
  DASHBOARD_SESSION_SECRET: "generated and kept in the data folder",
};

/** A variable as the reference says it. */
interface VariableFacts {
  readonly name: string;
  readonly readers: readonly string[];
  readonly values: string;
  readonly default: string;
  /** The descriptions of the schemas; one of them is used. */
  readonly descriptions: readonly string[];
}

/** Every variable, by name. */
export function variableFacts(): readonly VariableFacts[] {
  const names = [...new Set(VARIABLES_OF_PARTS.flatMap(([, shape]) => Object.keys(shape)))].toSorted();
  return names.map((name) => {
    const readers = VARIABLES_OF_PARTS.flatMap(([reader, shape]) => {
      const schema = shape[name];
      return schema === undefined ? [] : [{ reader, schema, meta: schema.meta() ?? {} }];
    });
    const texts = (key: string): readonly string[] =>
      readers.map(({ meta }) => meta[key]).filter((text) => typeof text === "string");
    return {
      name,
      readers: readers.map(({ reader }) => reader),
      values: texts("values")[0] ?? "",
      default: defaultOf(name, readers),
      descriptions: [...new Set(texts("description"))],
    };
  });
}

interface Reader {
  readonly reader: string;
  readonly schema: z.ZodType;
  readonly meta: Readonly<Record<string, unknown>>;
}

/** What the first reader takes, and what `npm start` takes instead. */
function defaultOf(name: string, readers: readonly Reader[]): string {
  const [first, ...others] = readers;
  if (first === undefined) return "";
  const usual = ownDefault(first);
  const stack = OF_STACK[name] ?? others.find(({ reader }) => reader === STACK)?.meta["default"];
  return typeof stack !== "string" || stack === usual ? usual : `${usual}; with ${STACK} ${stack}`;
}

function ownDefault({ schema, meta }: Reader): string {
  if (typeof meta["default"] === "string") return meta["default"];
  const { success, data } = schema.safeParse(undefined);
  if (!success) return "required";
  if (typeof data === "boolean") return data ? "on" : "off";
  if (data === undefined || data === null || data === "" || (Array.isArray(data) && data.length === 0)) return "none";
  if (typeof data !== "string" && typeof data !== "number") throw new Error("a default that needs a text of its own");
  return `\`${data}\``;
}

/** The names as a module, for the parts: none of them can import the schemas of all others. */
export function variableNamesModule(): string {
  const lines = variableFacts().map(({ name }) => `  "${name}",\n`);
  const head =
    "/** Every environment variable. Written by `npm run reference` from the schemas of the parts that read them. */";
  return `${head}\nexport const VARIABLE_NAMES: readonly string[] = [\n${lines.join("")}];\n`;
}

/** The page. */
export function variablesPage(): string {
  const rows = variableFacts().map(({ name, readers, values, default: usual, descriptions }) => [
    `\`${name}\``,
    usual,
    values,
    readers.join(", "),
    descriptions.join(" "),
  ]);
  const intro =
    "The gateway is configured with environment variables; [run](docs/run.md#configure) says what to decide. A blank variable counts as unset. A malformed variable stops the start of the part that reads it: the log names the variable and what it must be, never its value. Names of durations end with their unit: `_SECS`, `_MS`, `_DAYS`. _on_ is `1`, `true`, `yes` or `on`; _off_ is `0`, `false`, `no` or `off`; numbers are decimal digits. A name that is not in this list gives a [warning](docs/run.md#configure).";
  return `${pageHead("Environment variables", intro, ["edge/env.ts", "control/env.ts", "infra/local/env.ts"])}\n${table(
    ["variable", "default", "values", "read by", "what it does"],
    rows,
  )}\n`;
}
