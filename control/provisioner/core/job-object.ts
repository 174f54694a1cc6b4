/**
 * The job of a replica, in the words of the scheduler's REST service (docs/rules/provisioner.md#job-object).
 */
import { jobScript } from "../../../shared/schema/job-script.ts";
import type { ManagedModel } from "../../../shared/schema/managed-model.ts";
import { jobName, markOf } from "./job-mark.ts";

/** A spec, without the counts that are only shown. */
export type Spec = Omit<ManagedModel, "replicas">;

/** What every job of this installation has in common. */
export interface JobPlace {
  readonly installationId: string;
  /** The beginning of every job's name. */
  readonly prefix: string;
  /** How many ports each replica's window has. */
  readonly portSpan: number;
}

/** The body of a submission. */
export interface Submission {
  readonly script: string;
  readonly job: Readonly<Record<string, unknown>>;
}

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** What is submitted for a replica of a spec; a blank field of the spec is left out. */
export function submissionOf(
  spec: Spec,
  place: JobPlace,
  row: { readonly intentId: string; readonly portBase: number },
): Submission {
  const name = jobName(place.prefix, spec.model_name);
  const log = (end: string): string | null =>
    spec.log_output_dir === "" ? null : `${spec.log_output_dir}/${name}-%j.${end}`;
  const job = {
    name,
    comment: markOf(place.installationId, row.intentId),
    partition: spec.partition,
    nodes: String(spec.nodes),
    // with fewer tasks than nodes the scheduler gives fewer nodes
    tasks: spec.nodes,
    current_working_directory: "/tmp",
    environment: [`PATH=${PATH}`, `GATEWAY_PORT_BASE=${row.portBase}`, `GATEWAY_PORT_SPAN=${place.portSpan}`],
    // a job that the scheduler restarts would run beside its replacement
    requeue: false,
    tres_per_node: gresOf(spec.gres),
    time_limit: numberOf(spec.time_limit),
    account: spec.account,
    qos: spec.qos,
    constraints: spec.constraints,
    excluded_nodes: spec.exclude === null ? null : outerParts(spec.exclude),
    cpus_per_task: spec.cpus_per_task,
    memory_per_node: numberOf(spec.mem),
    standard_output: log("out"),
    standard_error: log("err"),
  };
  const given = Object.entries(job).filter(([, value]) => value !== null && value !== "");
  return { script: jobScript(spec, row.portBase, place.portSpan), job: Object.fromEntries(given) };
}

/** A number that may be unset, in the form that every version of the service takes without a warning. */
function numberOf(value: number | null): { set: true; infinite: false; number: number } | null {
  return value === null ? null : { set: true, infinite: false, number: value };
}

/** `gpu:2,shard:1` -> `gres/gpu:2,gres/shard:1`. */
function gresOf(gres: string): string {
  const parts = gres.split(",").filter((part) => part !== "");
  return parts.map((part) => (part.startsWith("gres/") ? part : `gres/${part}`)).join(",");
}

/** Splits at the commas that are not inside brackets: `n[1,3],m2` -> `n[1,3]`, `m2`. */
function outerParts(expression: string): readonly string[] {
  return expression.split(/,(?![^[]*\])/).filter((part) => part !== "");
}
