/** What a spec asks of the scheduler that the scheduler does not have, before it refuses the job. Pure. */
import type { Records } from "../../data/api.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount } from "../../ui/format.ts";

const text = texts("deployments", deploymentTexts);

type Resources = Records["SchedulerResources"];

/**
 * One sentence for each field of a form that asks for too much or for a name that does not exist. Without a list from the
 * scheduler there is no warning, and the schema checks empty fields.
 */
export function resourceWarnings(
  asked: FieldValues,
  { partitions, nodes, accounts, qos }: Resources,
): readonly string[] {
  const sizes = new Map(partitions.map((one) => [one.name, one.nodes]));
  const wanted = wordsOf(asked["partition"]);
  const most = (of: "cpus" | "memory_mb"): number => nodes.reduce((max, node) => Math.max(max, node[of]), 0);
  const kinds = new Set(nodes.flatMap(({ gres }) => wordsOf(gres).map(kindOf)));
  const warnings: string[] = [];
  const unknown = (field: string, known: readonly string[], id: "noAccount" | "noQos"): void => {
    const [name] = wordsOf(asked[field]);
    if (name !== undefined && known.length > 0 && !known.includes(name)) warnings.push(text(id, { name }));
  };
  if (sizes.size > 0)
    for (const name of wanted) {
      const size = sizes.get(name);
      if (size === undefined) warnings.push(text("noPartition", { name }));
      else if (wanted.length === 1 && isAbove(asked["nodes"], size))
        warnings.push(text("noNodes", { name, count: size }));
    }
  if (isAbove(asked["cpus_per_task"], most("cpus"))) warnings.push(text("noCpus", { count: most("cpus") }));
  if (isAbove(asked["mem"], most("memory_mb")))
    warnings.push(text("noMemory", { count: formatCount(most("memory_mb")) }));
  if (nodes.length > 0)
    for (const name of new Set(wordsOf(asked["gres"]).map(kindOf)))
      if (!kinds.has(name)) warnings.push(text("noGres", { name }));
  unknown("account", accounts, "noAccount");
  unknown("qos", qos, "noQos");
  return warnings;
}

/** The names that a form offers, by field; of generic resources without what the scheduler says of sockets: `gpu:4(S:0-1)`. */
export function offeredResources({ partitions, nodes, accounts, qos }: Resources): Readonly<Record<string, string[]>> {
  const gres = nodes.flatMap((node) => wordsOf(node.gres).map((word) => word.replace(/\(.*/, "")));
  return { partition: partitions.map(({ name }) => name), gres: [...new Set(gres)], account: accounts, qos };
}

/** The parts between commas that are not in brackets; of anything but a text none. */
function wordsOf(value: unknown): string[] {
  if (typeof value !== "string") return [];
  const words: string[] = [];
  let depth = 0;
  let begin = 0;
  for (let at = 0; at <= value.length; at += 1) {
    const sign = value[at];
    if (sign === "(" || sign === "[") depth += 1;
    else if (sign === ")" || sign === "]") depth -= 1;
    else if (sign === undefined || (sign === "," && depth <= 0)) {
      words.push(value.slice(begin, at).trim());
      begin = at + 1;
    }
  }
  return words.filter((word) => word !== "" && word !== "(null)");
}

/** `gres/gpu:a100:2` is of the kind `gpu`. */
function kindOf(word: string): string {
  return word.replace(/^gres\//, "").split(/[:(]/, 1)[0] ?? "";
}

/** Nobody knows what is larger than a size that was not told. */
function isAbove(value: unknown, size: number): boolean {
  return typeof value === "number" && size > 0 && value > size;
}
