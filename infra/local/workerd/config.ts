/**
 * The workerd configuration of one machine, as Cap'n Proto text. Pure. Values of variables are not in it: workerd takes them
 * from its environment, so that no secret is written to disk. Address ranges that are always blocked (decisions §16) are
 * denied to every outgoing connection of the Worker; upstreams that an admin registered may have a narrower network. Several
 * processes (decisions §43.10) are one with the objects and those without, joined by the runtime's own RPC over a socket
 * in the folder of the configuration, which only its owner can enter.
 */
import { ALWAYS_BLOCKED_CIDRS, carriedRanges, isCidr, PRIVATE_CIDRS } from "../../../shared/ssrf.ts";

/** Durable Object classes the stack knows: class name -> binding. */
const OBJECTS: Readonly<Record<string, string>> = { Cell: "CELL", Ledger: "LEDGER", TenantBudget: "TENANT_BUDGET" };

/** The compatibility date of wrangler.toml. */
const COMPATIBILITY_DATE = "2026-11-17";
const COMPATIBILITY_FLAGS = ["no_nodejs_global_timers"];

/**
 * How V8 runs, as a line of the configuration. A request makes more short-lived objects than V8's first nursery holds: with a
 * larger one fewer of them are carried along, which takes less of the one JavaScript thread and shorter pauses, for some tens
 * of megabytes.
 */
export const V8_FLAGS = 'v8Flags = ["--min-semi-space-size=16", "--max-semi-space-size=32"],';

/** Nothing reaches these, by whatever way an IPv6 address leads there. */
const ALWAYS_DENIED = [...ALWAYS_BLOCKED_CIDRS, ...carriedRanges(ALWAYS_BLOCKED_CIDRS)];

/** What a process of the runtime does: everything, only its Durable Objects' work, or requests, with the objects elsewhere. */
export type ProcessRole = "everything" | "objects" | "requests";

/** The socket of the process with the objects, in the folder that every process of the runtime works in. */
export const OBJECTS_SOCKET = "objects.sock";

/** What {@link workerdConfig} needs. */
interface WorkerdConfigOptions {
  readonly role?: ProcessRole;
  /** Names that the module exports. */
  readonly exports: readonly string[];
  /** Names of the text bindings, taken from workerd's environment. */
  readonly variables: readonly string[];
  /** Folder of the object storage. */
  readonly objectsFolder: string;
  /** What registered upstreams may be reached at, as network names and CIDRs; null: like everything else. */
  readonly reachableUpstreams: readonly string[] | null;
  /** More cells: each is a Worker of its own that differs in GATEWAY_CELL only, and shares the objects. */
  readonly moreCells?: readonly string[];
}

/** The socket of the Worker of one more cell. */
export function cellSocket(cell: string): string {
  return `http-${cell}`;
}

/** A text literal: printable characters as they are, everything else byte by byte. */
export function textLiteral(text: string): string {
  const escaped = [...Buffer.from(text)].map((byte) => {
    const character = String.fromCharCode(byte);
    if (byte < 0x20 || byte > 0x7e) return `\\x${byte.toString(16).padStart(2, "0")}`;
    return character === '"' || character === "\\" ? `\\${character}` : character;
  });
  return `"${escaped.join("")}"`;
}

function network(name: string, allowed: readonly string[], denied: readonly string[]): string {
  const list = (ranges: readonly string[]): string => ranges.map(textLiteral).join(", ");
  return `(name = "${name}", network = (
      allow = [${list(allowed)}], deny = [${list(denied)}], tlsOptions = (trustBrowserCas = true)))`;
}

/** Of two ranges that match, the narrower one counts, and of equal ones the denied. */
function upstreamNetwork(reachable: readonly string[]): string {
  const closed = PRIVATE_CIDRS.filter((range) => !reachable.includes(range));
  const allowed = [...reachable, ...carriedRanges(reachable.filter(isCidr))];
  return network("upstreams", allowed, [...ALWAYS_DENIED, ...carriedRanges(closed)]);
}

/** The configuration; `worker.mjs` lies beside it. The HTTP socket takes a free port on loopback and is named `http`. */
export function workerdConfig(options: WorkerdConfigOptions): string {
  const { role = "everything" } = options;
  const hasObjects = role !== "requests";
  const moreCells = role === "objects" ? [] : (options.moreCells ?? []);
  const classes = hasObjects ? Object.keys(OBJECTS).filter((name) => options.exports.includes(name)) : [];
  const upstreams = options.reachableUpstreams;
  const variables = options.variables.map(
    (name) => `(name = ${textLiteral(name)}, fromEnvironment = ${textLiteral(name)})`,
  );
  const services = [
    ...(upstreams === null ? [] : ['(name = "UPSTREAMS", service = "upstreams")']),
    ...(hasObjects ? [] : ['(name = "OBJECTS", service = "objects")']),
  ];
  const bindings = [
    ...variables,
    ...classes.map((name) => `(name = "${OBJECTS[name]}", durableObjectNamespace = "${name}")`),
    ...services,
  ];
  const bindingsOf = (cell: string): readonly string[] => [
    ...variables.filter((variable) => !variable.includes('"GATEWAY_CELL"')),
    `(name = "GATEWAY_CELL", text = ${textLiteral(cell)})`,
    ...classes.map(
      (name) =>
        `(name = "${OBJECTS[name]}", durableObjectNamespace = (className = "${name}", serviceName = "gateway"))`,
    ),
    ...services,
  ];
  const module = `modules = [(name = "worker.mjs", esModule = embed "worker.mjs")],
  compatibilityDate = "${COMPATIBILITY_DATE}",
  compatibilityFlags = [${COMPATIBILITY_FLAGS.map(textLiteral).join(", ")}],`;
  const namespaces = classes.map((name) => `(className = "${name}", uniqueKey = "gateway-${name}", enableSql = true)`);
  const storage = classes.length === 0 ? "" : '\n  durableObjectStorage = (localDisk = "objects"),';
  const rpc = `address = "unix:${OBJECTS_SOCKET}", http = (capnpConnectHost = "objects")`;
  const objects = hasObjects
    ? `disk = (path = ${textLiteral(options.objectsFolder)}, writable = true, allowDotfiles = false)`
    : `external = (${rpc})`;
  const rpcSocket = `\n    (name = "objects", ${rpc}, service = (name = "gateway", entrypoint = "Objects")),`;
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  ${V8_FLAGS}
  services = [
    (name = "gateway", worker = .gateway),${moreCells.map((cell, at) => `\n    (name = "gateway-${cell}", worker = .cell${at}),`).join("")}
    ${network("internet", ["public", "private"], ALWAYS_DENIED)},${upstreams === null ? "" : `\n    ${upstreamNetwork(upstreams)},`}
    (name = "objects", ${objects}),
  ],
  sockets = [
    (name = "http", address = "127.0.0.1:0", http = (), service = "gateway"),${moreCells.map((cell) => `\n    (name = "${cellSocket(cell)}", address = "127.0.0.1:0", http = (), service = "gateway-${cell}"),`).join("")}${role === "objects" ? rpcSocket : ""}
  ],
);
const gateway :Workerd.Worker = (
  ${module}
  bindings = [${bindings.join(", ")}],
  durableObjectNamespaces = [${namespaces.join(", ")}],${storage}
);
${moreCells
  .map(
    (cell, at) =>
      `const cell${at} :Workerd.Worker = (\n  ${module}\n  bindings = [${bindingsOf(cell).join(", ")}],\n);\n`,
  )
  .join("")}`;
}
