/**
 * Which addresses are probed in a tick (docs/rules/provisioner.md#probes).
 */
import type { ModelReplica } from "../../../shared/schema/model-replica.ts";
import type { Spec } from "./job-object.ts";
import { firstNode, hostOf } from "./node-address.ts";
import { portsOf } from "./port-window.ts";
import { matchJobs, type Snapshot } from "./snapshot.ts";

/** Where one replica may answer. */
export interface ProbeTarget {
  readonly replicaId: string;
  readonly path: string;
  /** `host:port` of its endpoint; null while it has none on its node. */
  readonly current: string | null;
  /** `host:port` of every other port of its window, lowest first. */
  readonly others: readonly string[];
}

/** One target for each replica whose job runs and which is wanted. An address of another replica is never probed. */
export function probeTargets(
  world: Pick<Snapshot, "settings" | "specs" | "replicas" | "jobs">,
): readonly ProbeTarget[] {
  const { settings, specs, replicas } = world;
  const jobs = matchJobs(world);
  const specOf = new Map(specs.map((spec) => [spec.model_id, spec]));
  const claims = claimedAddresses(replicas);
  return replicas.flatMap((replica) => {
    const spec = replica.model_id === null ? undefined : specOf.get(replica.model_id);
    const job = jobs.of(replica);
    if (spec === undefined || job?.phase !== "running" || !isServing(replica)) return [];
    const addresses = addressesOf(replica, job.nodes, spec, settings).filter(
      (address) => (claims.get(address) ?? replica.id) === replica.id,
    );
    const claimed = addressOf(replica);
    const current = claimed !== null && addresses.includes(claimed) ? claimed : null;
    const others = addresses.filter((address) => address !== current);
    return addresses.length === 0 ? [] : [{ replicaId: replica.id, path: spec.health_path, current, others }];
  });
}

/** The `host:port` of a replica's endpoint; null without one, or when it is no address. */
export function addressOf({ endpoint }: ModelReplica): string | null {
  const url = endpoint === null ? null : URL.parse(endpoint.api_base);
  if (url === null) return null;
  return `${url.hostname}:${url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port}`;
}

/** Which replica's endpoint has an address; the oldest one's when several have it. */
export function claimedAddresses(replicas: readonly ModelReplica[]): Map<string, string> {
  const claims = new Map<string, string>();
  for (const replica of replicas) {
    const address = addressOf(replica);
    if (address !== null && !claims.has(address)) claims.set(address, replica.id);
  }
  return claims;
}

function isServing({ state, cancel_requested }: ModelReplica): boolean {
  return !cancel_requested && state !== "draining" && state !== "lost";
}

function addressesOf(
  { port_base }: ModelReplica,
  nodes: string,
  spec: Spec,
  { aliases, portSpan }: Snapshot["settings"],
): readonly string[] {
  const node = firstNode(nodes);
  const host = node === null ? null : hostOf(node, aliases);
  return host === null ? [] : portsOf(port_base ?? spec.serving_port, portSpan).map((port) => `${host}:${port}`);
}
