/**
 * Where a job's server is: the first node of the scheduler's node expression, through the aliases that the settings have
 * (docs/rules/provisioner.md#addresses). Never expands an expression, because a hostile one names millions of nodes.
 */

const HOST_MAX = 253;
const HOST = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;

/**
 * The first node: `n[01-04,7],m1` -> `n01`, and `r[1-2]n[3,5]` -> `r1n3`. Null for text that names no node.
 */
export function firstNode(expression: string): string | null {
  let node = "";
  let rest = expression.trim();
  for (;;) {
    const plain = /^[^[\],]*/.exec(rest)?.[0] ?? "";
    node += plain;
    rest = rest.slice(plain.length);
    if (!rest.startsWith("[")) break;
    const first = /^\[(\d+)[^[\]]*\]/.exec(rest);
    if (first === null) return null;
    node += first[1] ?? "";
    rest = rest.slice(first[0].length);
    if (node.length > HOST_MAX) return null;
  }
  const ends = rest === "" || rest.startsWith(",");
  return ends && node.length <= HOST_MAX && HOST.test(node) ? node : null;
}

/**
 * The host of a URL for a node: its alias or its own name, IPv6 in brackets. Null when that is no host of a URL.
 */
export function hostOf(node: string, aliases: ReadonlyMap<string, string>): string | null {
  const name = aliases.get(node) ?? node;
  const host = name.includes(":") && !name.startsWith("[") ? `[${name}]` : name;
  const url = URL.parse(`http://${host}:1/`);
  const plain = url !== null && url.port === "1" && url.pathname === "/" && url.username === "" && url.search === "";
  return plain && url.hostname.length <= HOST_MAX ? url.hostname : null;
}
