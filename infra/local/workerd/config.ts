/**
 * The workerd configuration of one machine, as Cap'n Proto text. Pure. It does not contain the values of variables:
 * workerd takes them from its environment, so that no secret is written to disk. Address ranges that are always blocked
 * (docs/rules/network-safety.md#checked-at-every-connection) are denied to every outgoing connection of the Worker;
 * upstreams that an admin registered may have a narrower network. Several processes
 * (docs/rules/local-stack.md#several-processes) are one process with the objects and others without. They are connected
 * by the runtime's own RPC over a socket in the folder of the configuration, which only its owner can enter.
 */
import { ALWAYS_BLOCKED_CIDRS, carriedRanges, isCidr, PRIVATE_CIDRS } from "../../../shared/network/ssrf.ts";
import type { ClusterConfig } from "../cluster.ts";

/** The Durable Object classes that the stack knows: class name -> binding. */
const OBJECTS: Readonly<Record<string, string>> = { Cell: "CELL", Ledger: "LEDGER", TenantBudget: "TENANT_BUDGET" };

/** Classes whose objects keep their memory while idle: the counters of a Cell live as long as its process. */
const KEPT: ReadonlySet<string> = new Set(["Cell"]);

/** The compatibility date of wrangler.toml. */
const COMPATIBILITY_DATE = "2026-11-17";
const COMPATIBILITY_FLAGS = ["no_nodejs_global_timers", "no_web_socket_compression"];

/**
 * A line of the configuration with options of V8. A request makes more short-lived objects than V8's default nursery (the
 * space for new objects) can hold. With a larger one fewer objects are copied, which takes less time of the one JavaScript
 * thread and makes pauses shorter, for some tens of megabytes.
 */
export const V8_FLAGS = 'v8Flags = ["--min-semi-space-size=16", "--max-semi-space-size=32"],';

/** Never reachable, also not through an IPv6 address that leads there. */
const ALWAYS_DENIED = [...ALWAYS_BLOCKED_CIDRS, ...carriedRanges(ALWAYS_BLOCKED_CIDRS)];

/**
 * The work of a process of the runtime: all of it, only that of the Durable Objects, or only requests, with the objects in
 * another process.
 */
export type ProcessRole = "everything" | "objects" | "requests";

/** The socket of the process with the objects, in the working folder that all processes of the runtime share. */
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
  /** The networks in which registered upstreams may be reached, as network names and CIDRs; null: the same as for everything else. */
  readonly reachableUpstreams: readonly string[] | null;
  /** Other cells: each is a separate Worker that differs only in GATEWAY_CELL, and uses the same objects. */
  readonly moreCells?: readonly string[];
  /** The cluster that has the objects; null or absent: they are on this machine. */
  readonly cluster?: RuntimeCluster | null;
}

/** A cluster, and what tests shorten of it. */
export interface RuntimeCluster extends Omit<ClusterConfig, "credentials"> {
  /** By how much the runtime divides the times of a lease and of a takeover; 1 in service. */
  readonly timeDivisor: number;
}

/**
 * The time in which a stopping instance hands its objects over. It must be shorter than the time that the stack gives the
 * runtime. The requests of its own front have ended by then.
 */
const HAND_OVER_MS = 2_500;

function clusterLines(cluster: RuntimeCluster): string {
  const { advertise, timeDivisor } = cluster;
  return `
  cluster = (
    bucket = ${textLiteral(cluster.bucket)}, bucketOptions = [${cluster.options.map(textLiteral).join(", ")}],
    address = ${textLiteral(cluster.listen)},${advertise === undefined ? "" : ` advertise = ${textLiteral(advertise)},`}
    key = ${textLiteral(cluster.key)}, stopTimeoutMs = ${HAND_OVER_MS},${timeDivisor === 1 ? "" : ` unsafeTimeDivisor = ${timeDivisor},`}
  ),`;
}

/** The socket of the Worker of a further cell. */
export function cellSocket(cell: string): string {
  return `http-${cell}`;
}

/** A text literal: printable characters unchanged, all others byte by byte. */
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

/** Of two ranges that match, the narrower one counts; of two equal ones, the denied one. */
function upstreamNetwork(reachable: readonly string[]): string {
  const closed = PRIVATE_CIDRS.filter((range) => !reachable.includes(range));
  const allowed = [...reachable, ...carriedRanges(reachable.filter(isCidr))];
  return network("upstreams", allowed, [...ALWAYS_DENIED, ...closed, ...carriedRanges(closed)]);
}

/**
 * The configuration; `worker.mjs` must be in the same folder. The HTTP socket takes a free port on loopback and is named
 * `http`.
 */
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
  const namespaces = classes.map(
    (name) =>
      `(className = "${name}", uniqueKey = "gateway-${name}", enableSql = true${KEPT.has(name) ? ", preventEviction = true" : ""})`,
  );
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
  ],${options.cluster ? clusterLines(options.cluster) : ""}
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
